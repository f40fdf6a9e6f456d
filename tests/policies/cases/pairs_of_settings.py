"""Cases of rules/pairs.py: settings of a program against pods, objects and nodes; releases that a
Subscription names."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.device_claims import claim
from tests.policies.cases.pair_objects import (
    QUEUED,
    TAINT,
    claiming,
    configuration,
    node,
    of_kind,
    operator,
    plugin,
    release,
)
from tests.policies.cases.workloads import CONTAINER, deployment, job

ADVICE = Level.ADVISORY
_HAMI = {"devicePlugin": {"nvidiaNodeSelector": {"pool": "a"}}}
_PARTS = {f"{CONTAINER}.resources.limits": {"nvidia.com/gpu": 2, "nvidia.com/gpumem": 3000}}
_ONE_PART = {f"{CONTAINER}.resources.limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000}}
_SLICE = {f"{CONTAINER}.resources.limits": {"nvidia.com/mig-1g.10gb": 1}}


_NO_GPU = {f"{CONTAINER}.resources.limits": {"memory": "32Gi"}}
_NVIDIA = {"spec.template.spec.runtimeClassName": "nvidia"}
_BLACKWELL = {"nvidia.com/mig.capable": "true", "nvidia.com/gpu.present": "true"}
_STRICT = {
    "toolkit": {
        "env": [
            {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"}
        ]
    }
}


def _mapped(*classes: str) -> Thing:
    names = [{"name": "gpus", "deviceClassNames": list(classes)}]
    return configuration({"deviceClassMappings": names})


def _in_config_map(*classes: str) -> Thing:
    text = (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        f"resources: {{deviceClassMappings: [{{name: gpus, deviceClassNames: {list(classes)}}}]}}\n"
    )
    data = {"controller_manager_config.yaml": text}
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    return manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def _shared(gpus: int) -> Thing:
    one = '{"id":"GPU-%d","count":10,"devmem":24576,"devcore":100,"health":true}'
    register = f"[{','.join(one % index for index in range(gpus))}]"
    metadata = {
        "name": f"hami-{gpus}",
        "annotations": {"hami.io/node-nvidia-register": register},
    }
    status = {"allocatable": {"nvidia.com/gpu": str(10 * gpus)}}
    return manifest({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})


def _subscription(release: str, approval: str) -> Thing:
    spec = {
        "name": "gpu-operator-certified",
        "channel": "v25.10",
        "installPlanApproval": approval,
        "startingCSV": f"gpu-operator-certified.{release}",
        "source": "certified-operators",
        "sourceNamespace": "openshift-marketplace",
    }
    version = "operators.coreos.com/v1alpha1"
    return of_kind("Subscription", version, "gpu-operator-certified", spec, namespace="gpu")


def _policy(**more: Any) -> Thing:
    parts = ("operator", "daemonsets", "dcgm", "dcgmExporter", "devicePlugin", "gfd", "driver")
    spec = {**{one: {} for one in parts}, "nodeStatusExporter": {}, "toolkit": {}, **more}
    return of_kind("ClusterPolicy", "nvidia.com/v1", "gpu-cluster-policy", spec)


def _crio() -> Thing:
    status = {"nodeInfo": {"containerRuntimeVersion": "cri-o://1.33.4"}}
    labels = {"nvidia.com/gpu.present": "true"}
    metadata = {"name": "gpu-1", "labels": labels}
    return manifest({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})


def _levels(*labels: str) -> Thing:
    levels = {"levels": [{"nodeLabel": one} for one in labels]}
    return of_kind("Topology", "kueue.x-k8s.io/v1beta2", "racks", levels)


def _level(how: str, label: str) -> Thing:
    name = f"kueue.x-k8s.io/podset-{how}-topology"
    return job({"spec.template.metadata": {"annotations": {name: label}}})


_HINT = "capacity.cluster-autoscaler.kubernetes.io/gpu-"
_BOUNDS = (("min", "0"), ("max", "4"))


def _disks(*names: str) -> Thing:
    tags = [{"tags": {"karpenter.sh/discovery": "ml"}}]
    spec = {
        "role": "KarpenterNodeRole",
        "amiSelectorTerms": [{"alias": "bottlerocket@v1.51.0"}],
        "subnetSelectorTerms": tags,
        "securityGroupSelectorTerms": tags,
        "blockDeviceMappings": [{"deviceName": n, "ebs": {"volumeSize": "200Gi"}} for n in names],
    }
    return of_kind("EC2NodeClass", "karpenter.k8s.aws/v1", "gpu", spec)


def _gpu_pool() -> Thing:
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    key = "karpenter.k8s.aws/instance-family"
    spec = {
        "nodeClassRef": node_class,
        "requirements": [{"key": key, "operator": "In", "values": ["g6e"]}],
    }
    return of_kind("NodePool", "karpenter.sh/v1", "gpu", {"template": {"spec": spec}})


def _machines(**hints: str) -> Thing:
    own = {_HINT + key: value for key, value in hints.items()}
    bounds = {f"cluster.x-k8s.io/cluster-api-autoscaler-node-group-{k}-size": v for k, v in _BOUNDS}
    spec = {"clusterName": "lab", "template": {"spec": {"clusterName": "lab"}}}
    version, kind = "cluster.x-k8s.io/v1beta1", "MachineDeployment"
    return of_kind(kind, version, "gpu", spec, annotations={**bounds, **own})


CASES = (
    Case(
        "bottlerocket-images-on-small-disk",
        _disks("/dev/xvda", "/dev/xvdb"),
        _disks("/dev/xvda"),
        "gives a size to other disks than /dev/xvdb",
        ADVICE,
        alongside=(
            _gpu_pool(),
            deployment({f"{CONTAINER}.image": "vllm/vllm-openai:v0.11.0"}),
        ),
    ),
    Case(
        "autoscaler-hint-incomplete",
        _machines(type="nvidia.com/gpu", count="1"),
        _machines(type="nvidia.com/gpu"),
        "names the resource of its GPUs for a start from 0 machines, and not their number",
        ADVICE,
        alongside=(),
    ),
    Case(
        "autoscaler-hint-incomplete",
        _machines(type="nvidia.com/gpu", count="1"),
        _machines(count="1"),
        "states the number of its GPUs for a start from 0 machines, and not the resource",
        ADVICE,
        alongside=(),
    ),
    *(
        Case(
            "pods-name-absent-object",
            _level(how, "example.com/rack"),
            _level(how, "nvidia.com/gpu.clique"),
            f"{verb} the topology level nvidia.com/gpu.clique, and no Topology here has it",
            ADVICE,
            alongside=(_levels("example.com/block", "example.com/rack"),),
        )
        for how, verb in (("required", "requires"), ("preferred", "prefers"))
    ),
    *(
        Case(
            "kueue-claims-without-mapping",
            claiming(),
            claiming(QUEUED),
            says,
            ADVICE,
            alongside=(mapping, claim()),
        )
        for mapping, says in (
            (_mapped("mig.nvidia.com"), "deviceClassMappings of Configuration kueue do not have"),
            (_in_config_map("mig.nvidia.com"), "of ConfigMap kueue-system/kueue-manager-config"),
        )
    ),
    Case(
        "hami-beside-others",
        release(
            "hami",
            "2.9.0",
            {"devicePlugin": {**_HAMI["devicePlugin"], "runtimeClassName": "nvidia"}},
        ),
        release("hami", "2.9.0", _HAMI),
        "has no RuntimeClass, and Release gpu/gpu-operator gives GPUs by CDI",
        ADVICE,
        alongside=(operator("v25.10.1", {"devicePlugin": {"enabled": False}}),),
    ),
    Case(
        "pods-exceed-nodes",
        job(_ONE_PART),
        job(_PARTS),
        "requests 2 parts of GPUs in one pod, which HAMi takes from 2 GPUs, and Node hami-1 has 1",
        ADVICE,
        alongside=(_shared(1),),
    ),
    Case(
        "runtime-class-of-operator-gone",
        job({**_NO_GPU}),
        job({**_NO_GPU, **_NVIDIA}),
        "takes those that NVIDIA_VISIBLE_DEVICES names",
        ADVICE,
        alongside=(operator("v26.3.1", _STRICT),),
    ),
    # llm-d/llm-d-deployer#273: the device plugin has a RuntimeClass, the pods have none.
    Case(
        "runtime-class-of-operator-gone",
        job({**_NVIDIA}),
        job(),
        "names no runtimeClassName, and Release gpu/nvidia-device-plugin needs",
        ADVICE,
        alongside=(plugin({"runtimeClassName": "nvidia"}),),
    ),
    Case(
        "exporter-memory-too-small",
        release("dcgm-exporter", "4.8.0", {"resources": {"limits": {"memory": "1Gi", "cpu": "1"}}}),
        release("dcgm-exporter", "4.8.0", {"resources": {"limits": {"memory": "1Gi"}}}),
        "Helm keeps the chart's limit of 200m of a CPU",
        ADVICE,
    ),
    Case(
        "device-of-no-node",
        job(),
        job(_SLICE),
        "and the GPUs of Node gpu-1 are not partitioned",
        ADVICE,
        alongside=(plugin({"migStrategy": "mixed"}), node(labels=_BLACKWELL)),
    ),
    Case(
        "default-driver-takes-all-nodes",
        operator("v26.7.0", {"clusterPolicy": {"deployCR": False}}),
        operator("v26.7.0", {}),
        "has a ClusterPolicy, and GPUCluster gpus is declared too",
        alongside=(of_kind("GPUCluster", "nvidia.com/v1alpha1", "gpus", {"draDriver": {}}),),
    ),
    Case(
        "pods-repelled-by-chosen-nodes",
        job({"spec.template.spec.tolerations": [{"operator": "Exists"}]}),
        job(),
        "tolerates the taints of neither Node gpu-1 nor another node with GPUs",
        ADVICE,
        alongside=(node(taints=TAINT),),
    ),
    Case(  # the release of a Subscription counts where its updates wait for an approval
        "release-has-fault",
        _policy(toolkit={"enabled": False}),
        _policy(),
        "leaves operands in Init:CreateContainerError for minutes where CRI-O runs",
        ADVICE,
        alongside=(_subscription("v25.10.0", "Manual"), _crio()),
    ),
)
