"""More cases of rules/pairs.py: KAI's scheduler, and facts of a cluster's nodes."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing
from tests.policies.cases.pair_objects import (
    GPU_TAINT,
    HALF,
    IN_KAI_QUEUE,
    KAI,
    NO_GPU,
    OTHER_BOARD,
    POOL,
    SHARD,
    TAINT,
    TOLERATION,
    dra,
    feature_rule,
    nic_policy,
    node,
    of_kind,
    operator,
    queue,
    release,
    runtime_class,
    service,
)
from tests.policies.cases.pools import karpenter
from tests.policies.cases.workloads import CONTAINER, deployment, job

ADVICE = Level.ADVISORY

_WHOLE = {
    "spec.replicas": 1,
    f"{CONTAINER}.resources": {
        "requests": {"cpu": "8", "memory": "64Gi"},
        "limits": {"memory": "64Gi", "nvidia.com/gpu": 8},
    },
}
_SOCKETS = {"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}

_RADEON = {"spec.template.spec.requirements[0].values": ["g4ad.xlarge", "g4ad.2xlarge"]}


def _device_plugin(tolerations: list[dict[str, Any]], **chosen: str) -> Thing:
    plugin = {"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.14.5"}
    pods = {"containers": [plugin], "volumes": [_SOCKETS], "tolerations": tolerations}
    pods["nodeSelector"] = chosen
    labels = {"app": "plugin"}
    template = {"metadata": {"labels": labels}, "spec": pods}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return of_kind("DaemonSet", "apps/v1", "plugin", spec, namespace="kube-system")


_STACK = "kube-prometheus-stack"


def _chooses_all(selector: str) -> Thing:
    values = {"prometheus": {"prometheusSpec": {f"{selector}NilUsesHelmValues": False}}}
    return release(_STACK, "80.0.0", values, "monitoring")


def _monitors(kind: str) -> Thing:
    return of_kind(kind, "monitoring.coreos.com/v1", "gpus", {}, namespace="monitoring")


CASES = (
    Case(
        "kai-sharing-off",
        deployment(KAI),
        deployment({**KAI, **HALF}),
        "requests a part of a GPU, and Release kai/kai-scheduler has not global.gpuSharing: true",
        ADVICE,
        alongside=(FLEET, release("kai-scheduler", "v0.17.0", {}, "kai")),
    ),
    Case(
        "kai-sharing-off",
        deployment(KAI),
        deployment({**KAI, **HALF}),
        "requests a part of a GPU, and Config kai-config has not spec.admission.gpuSharing: true",
        ADVICE,
        alongside=(FLEET, of_kind("Config", "kai.scheduler/v1", "kai-config", {"admission": {}})),
    ),
    Case(
        "kai-memory-not-read",
        deployment({**KAI, **NO_GPU, 'metadata.annotations."gpu-memory"': "8000"}),
        deployment({**KAI, **NO_GPU, 'metadata.annotations."nvidia.com/gpu.memory"': "8000Mi"}),
        "requests 8000Mi of GPU memory in nvidia.com/gpu.memory",
        ADVICE,
    ),
    Case(
        "kai-memory-unknown",
        deployment({**KAI, **HALF}),
        deployment({**KAI, **NO_GPU, 'metadata.annotations."gpu-memory"': "8000"}),
        "neither Node gpu-1 nor another node has the label nvidia.com/gpu.memory",
        ADVICE,
        alongside=(node(),),
    ),
    Case(
        "kai-fraction-without-devices",
        deployment({**KAI, **NO_GPU}),
        deployment({**KAI, **HALF}),
        "requests a part of a GPU, and Node gpu-1 and all other nodes with GPUs run Bottlerocket",
        ADVICE,
        alongside=(node(image="Bottlerocket OS 1.62.1 (aws-k8s-1.34-nvidia)"),),
    ),
    Case(
        "kai-queue-of-node-pool",
        deployment({**IN_KAI_QUEUE, 'metadata.labels."kai.scheduler/node-pool"': "train"}),
        deployment(IN_KAI_QUEUE),
        "names Queue research, which is of the node pool train, and has no label of it",
        ADVICE,
        alongside=(SHARD, queue("research", "all", POOL), queue("all", labels=POOL)),
    ),
    Case(
        "kai-queue-of-node-pool",
        deployment({**IN_KAI_QUEUE, 'metadata.labels."kai.scheduler/node-pool"': "train"}),
        deployment({**IN_KAI_QUEUE, 'metadata.labels."kai.scheduler/node-pool"': "serve"}),
        "names Queue research, which is not of the node pool serve of these pods",
        ADVICE,
        alongside=(SHARD, queue("research", "all", POOL), queue("all", labels=POOL)),
    ),
    Case(
        "device-of-no-node",
        job(),
        job({f'{CONTAINER}.resources.limits."example.com/nic"': 1}),
        "requests example.com/nic, nvidia.com/gpu, and all nodes here offer nvidia.com/gpu",
        ADVICE,
        alongside=(node(),),
    ),
    Case(
        "runtime-class-denies-nodes",
        deployment({"spec.template.spec.runtimeClassName": "kata"}),
        deployment(
            {
                "spec.template.spec.runtimeClassName": "kata",
                "spec.template.spec.nodeSelector": {"runtime": "gvisor"},
            }
        ),
        "chooses nodes by other values than RuntimeClass kata, which these pods name",
        ADVICE,
        alongside=(FLEET, runtime_class({"runtime": "kata"})),
    ),
    Case(
        "runtime-class-label-gone",
        runtime_class({"runtime": "kata"}),
        runtime_class({"nvidia.com/cc.capable": "true"}),
        "chooses nodes by nvidia.com/cc.capable, which Release gpu/gpu-operator (v26.7.0) does not",
        ADVICE,
        alongside=(operator("v26.7.0", {}),),
    ),
    Case(
        "node-feature-unknown",
        feature_rule("pci.device", {"site": "a"}),
        feature_rule("kubernetes.label", {"site": "a"}),
        "matches a feature that Node Feature Discovery does not have",
        ADVICE,
    ),
    Case(
        "node-feature-unknown",
        feature_rule("kernel.version", {"gpu.feature.node.kubernetes.io/a": "true"}),
        feature_rule("kernel.version", {"node.kubernetes.io/gpu": "true"}),
        "makes a label in the namespace kubernetes.io",
        ADVICE,
    ),
    Case(
        "nim-proxy-without-certificates",
        service(proxy={"httpProxy": "http://proxy:3128", "certConfigMap": "certificates"}),
        service(proxy={"httpProxy": "http://proxy:3128"}),
        "has a proxy without certConfigMap, and Release gpu/k8s-nim-operator is of 3.0.1",
        ADVICE,
        alongside=(FLEET, release("k8s-nim-operator", "3.0.1", {})),
    ),
    Case(
        "exporter-repelled",
        release("dcgm-exporter", "4.8.2", {"tolerations": TOLERATION}),
        release("dcgm-exporter", "4.8.2", {}),
        "has no tolerations, and Node gpu-1 has the taint nvidia.com/gpu",
        ADVICE,
        alongside=(node(taints=GPU_TAINT),),
    ),
    Case(
        "network-policy-of-no-node",
        nic_policy({"team": "ml"}),
        nic_policy({"team": ""}),
        "has labels that neither Node gpu-1 nor another node has with these values",
        ADVICE,
        alongside=(node(labels={"team": "ml"}),),
    ),
    Case(
        "dra-driver-before-gpu",
        dra(),
        dra(version="0.4.1"),
        "is of 0.4.1, and Node gpu-1 has Vera Rubin GPUs",
        ADVICE,
        alongside=(node(labels={"nvidia.com/gpu.family": "rubin"}),),
    ),
    Case(
        "pods-repelled-by-chosen-nodes",
        job({"spec.template.spec.tolerations": TOLERATION}),
        job({"spec.template.spec.tolerations": [{**TOLERATION[0], **OTHER_BOARD}]}),
        "requests GPUs, and tolerates the taints of neither Node gpu-1 nor another node with GPUs",
        ADVICE,
        alongside=(node(taints=TAINT),),
    ),
    Case(
        "pods-repelled-by-chosen-nodes",
        _device_plugin([{"operator": "Exists"}]),
        _device_plugin([{"key": "nvidia.com/gpu", "operator": "Exists"}]),
        "is for nodes with GPUs, and tolerates the taints of neither Node gpu-1 nor another of",
        ADVICE,
        alongside=(
            node(
                labels={"node.kubernetes.io/instance-type": "g4dn.xlarge"},
                taints=[{"key": "dedicated", "value": "user", "effect": "NoSchedule"}],
            ),
        ),
    ),
    Case(
        "pods-choose-no-node",
        _device_plugin([], extension="580.126.20-v1.12.7"),
        _device_plugin([], extension="580.126.20-v1.12.6"),
        "chooses nodes by a value that no node here has, as Node gpu-1 has another",
        ADVICE,
        alongside=(node(labels={"extension": "580.126.20-v1.12.7"}),),
    ),
    Case(
        "pods-choose-no-node",
        job({"spec.template.spec.nodeSelector": {"cloud.google.com/gke-nodepool": "l4"}}),
        job({"spec.template.spec.nodeSelector": {"karpenter.sh/nodepool": "gpu"}}),
        "chooses nodes by a label of Karpenter or EKS, and Node gpu-1 is a node of GKE",
        ADVICE,
        alongside=(node(labels={"cloud.google.com/gke-nodepool": "l4"}),),
    ),
    Case(
        "pods-choose-no-node",
        job({"spec.template.spec.nodeSelector": {"karpenter.sh/nodepool": "gpu"}}),
        job({"spec.template.spec.nodeSelector": {"karpenter.sh/nodepool": "gpus"}}),
        "chooses a NodePool by a name that none here has; NodePool gpu is here",
        ADVICE,
        alongside=(karpenter(),),
    ),
    Case(
        "pods-choose-no-node",
        job({"spec.template.spec.nodeSelector": {"karpenter.sh/nodepool": "gpu"}}),
        job({"spec.template.spec.nodeSelector": {"karpenter.sh/nodepool": "amd"}}),
        "requests GPUs of NVIDIA from NodePool amd, and no machine that it allows has one",
        ADVICE,
        alongside=(karpenter(), karpenter({"metadata.name": "amd", **_RADEON})),
    ),
    Case(
        "pods-exceed-nodes",
        deployment({**_WHOLE, "spec.strategy": {"type": "Recreate"}}),
        deployment(_WHOLE),
        "needs 16 GPUs during a rolling update, which starts new pods before it ends old ones",
        ADVICE,
        alongside=(node(),),
    ),
    *(
        Case(
            "monitor-not-chosen",
            _chooses_all(selector),
            release(_STACK, "80.0.0", {}, "monitoring"),
            says,
            ADVICE,
            alongside=(FLEET, monitored),
        )
        for selector, monitored, says in (
            (
                "serviceMonitorSelector",
                release("dcgm-exporter", "4.8.2", {}),
                "Release gpu/dcgm-exporter gives its ServiceMonitor none: nothing is scraped",
            ),
            (
                "serviceMonitorSelector",
                operator("v26.3.0", {"dcgmExporter": {"serviceMonitor": {"enabled": True}}}),
                "Release gpu/gpu-operator gives the ServiceMonitor of the exporter none: nothing",
            ),
            (
                "podMonitorSelector",
                release("dynamo-platform", "1.2.1", {}),
                "and Release gpu/dynamo-platform makes PodMonitors without it: nothing",
            ),
            (
                "serviceMonitorSelector",
                _monitors("ServiceMonitor"),
                "chooses ServiceMonitors by the label release, and ServiceMonitor monitoring/gpus",
            ),
            (
                "podMonitorSelector",
                _monitors("PodMonitor"),
                "chooses PodMonitors by the label release, and PodMonitor monitoring/gpus has none",
            ),
            (
                "ruleSelector",
                _monitors("PrometheusRule"),
                "PrometheusRule monitoring/gpus has none: no alert is evaluated",
            ),
        )
    ),
)
