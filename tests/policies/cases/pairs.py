"""Cases of rules/pairs.py: what a row's report had, and the same with the one thing that was wrong
set right."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing, manifest
from tests.policies.cases.device_claims import CLAIMING, claim
from tests.policies.cases.workloads import deployment, job
from tests.policies.objects import changed

GKE = {"cloud.google.com/gke-nodepool": "l4", "cloud.google.com/gke-accelerator": "nvidia-l4"}
QUEUE = "kueue.x-k8s.io/queue-name"
KAI = {"spec.template.spec.schedulerName": "kai-scheduler"}
IN_KAI_QUEUE = {**KAI, 'metadata.labels."kai.scheduler/queue"': "research"}
OF_RUNAI = {'metadata.labels."runai/queue"': "research"}
POOL = {"kai.scheduler/node-pool": "train"}


def _release(chart: str, version: str, values: dict[str, Any], space: str = "gpu") -> Thing:
    properties = {"chart": chart, "version": version, "namespace": space, "values": values}
    return Thing("kubernetes:helm.sh/v3:Release", properties, chart)


def _dra(more: dict[str, Any] | None = None, version: str = "0.5.0", space: str = "gpu") -> Thing:
    values = {"resources": {"gpus": {"enabled": False}}, **(more or {})}
    return _release("dra-driver-nvidia-gpu", version, values, space)


def _operator(version: str, values: dict[str, Any]) -> Thing:
    return _release("gpu-operator", version, values)


def _object(kind: str, version: str, name: str, spec: Any = None, **metadata: Any) -> Thing:
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}
    return manifest(document if spec is None else {**document, "spec": spec})


def _node(
    name: str = "gpu-1",
    labels: dict[str, str] | None = None,
    kubelet: str = "v1.36.1",
    taints: list[dict[str, str]] | None = None,
    gpus: int = 8,
) -> Thing:
    document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": taints or []},
        "status": {
            "allocatable": {"cpu": "96", "memory": "768Gi", "nvidia.com/gpu": str(gpus)},
            "nodeInfo": {
                "kubeletVersion": kubelet,
                "containerRuntimeVersion": "containerd://2.1.5",
                "osImage": "Container-Optimized OS from Google",
            },
        },
    }
    return manifest(document)


def _queue(name: str, parent: str = "", labels: dict[str, str] | None = None) -> Thing:
    spec = {"resources": {"gpu": {"quota": 1, "limit": 8}}}
    above = {"parentQueue": parent} if parent else {}
    return _object("Queue", "scheduling.run.ai/v2", name, {**above, **spec}, labels=labels or {})


def _domain(nodes: int, name: str = "nccl") -> Thing:
    spec = {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": "gpu"}}}
    return _object("ComputeDomain", "resource.nvidia.com/v1beta1", name, spec, namespace="ml")


def _cache(**more: Any) -> Thing:
    source = {"ngc": {"modelPuller": "nvcr.io/nim/x:1", "pullSecret": "a", "authSecret": "b"}}
    spec = {"source": source, "storage": {"pvc": {"create": True, "size": "25Gi"}}, **more}
    return _object("NIMCache", "apps.nvidia.com/v1alpha1", "ocr", spec, namespace="nim")


def _configuration(resources: dict[str, Any]) -> Thing:
    document = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    return manifest({**document, "metadata": {"name": "kueue"}, "resources": resources})


def _crd(version: str, default: bool) -> Thing:
    crd = {"enabled": True, "deployDefaultCR": default}
    return _operator(version, {"driver": {"nvidiaDriverCRD": crd}})


def _claiming(changes: dict[str, Any] | None = None) -> Thing:
    return manifest(changed(CLAIMING, changes or {}))


def _slice(driver: str) -> Thing:
    spec = {"driver": driver, "nodeName": "gpu-1", "pool": {"name": "gpu-1", "generation": 1}}
    return _object("ResourceSlice", "resource.k8s.io/v1", f"gpu-1-{driver}", spec)


def _plugin(values: dict[str, Any]) -> Thing:
    return _release("nvidia-device-plugin", "0.18.0", values)


def _taint_rule(**selector: str) -> Thing:
    chosen = {"driver": "gpu.nvidia.com", **selector}
    taint = {"key": "example.com/repair", "effect": "NoExecute"}
    spec = {"deviceSelector": chosen, "taint": taint}
    return _object("DeviceTaintRule", "resource.k8s.io/v1beta2", "repair", spec)


def _shares(renamed: str) -> Thing:
    text = (
        f"version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: {renamed}\n"
        "    failRequestsGreaterThanOne: true\n"
        "    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
    )
    return _plugin({"gfd": {"enabled": True}, "config": {"map": {"default": text}}})


def _exporter(version: str) -> Thing:
    env = [{"name": "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", "value": "true"}]
    return _operator(version, {"dcgmExporter": {"env": env}})


DRIVER = _object(
    "NVIDIADriver",
    "nvidia.com/v1alpha1",
    "ubuntu",
    {
        "driverType": "gpu",
        "repository": "nvcr.io/nvidia",
        "image": "driver",
        "version": "580.95.05",
        "nodeSelector": {"pool": "a"},
    },
)
NRI = _operator(
    "v26.3.1", {"cdi": {"enabled": True, "nriPluginEnabled": True}, "mig": {"strategy": "mixed"}}
)
SHARD = _object("SchedulingShard", "kai.scheduler/v1", "train", {"partitionLabelValue": "train"})
LOCAL = _object(
    "LocalQueue", "kueue.x-k8s.io/v1beta2", "team", {"clusterQueue": "all"}, namespace="ml"
)
SERVICE = _object(
    "NIMService",
    "apps.nvidia.com/v1alpha1",
    "ocr",
    {
        "image": {"repository": "nvcr.io/nim/x", "tag": "1", "pullSecrets": ["a"]},
        "authSecret": "b",
        "storage": {"nimCache": {"name": "ocr"}},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    },
    namespace="nim",
)
ZERO = Thing(
    "gcp:container/nodePool:NodePool",
    {
        "cluster": "ml",
        "autoscaling": {"minNodeCount": 0, "maxNodeCount": 2},
        "nodeConfig": {
            "machineType": "g2-standard-8",
            "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
            "labels": {"owner": "ml"},
        },
    },
    "zero",
)
TAINT = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
TOLERATION = [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]
CHOOSES = {"spec.template.spec.nodeSelector": {"team": "ml"}}
SERVER = {"node-role.kubernetes.io/control-plane": ""}
SLICES = {"nvidia.com/mig.config": "all-disabled", "nvidia.com/gpu.product": "NVIDIA-H100-PCIe"}
QUEUED = {f'metadata.labels."{QUEUE}"': "team"}
ADVICE = Level.ADVISORY

CASES = (
    Case(
        "compute-domain-without-plugin",
        _dra({"resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}}),
        _dra({"resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": False}}}),
        "resources.computeDomains.enabled is false, and ComputeDomain ml/nccl is declared",
        alongside=(_domain(0),),
    ),
    Case(
        "default-driver-takes-all-nodes",
        _crd("v26.3.1", default=False),
        _crd("v26.3.1", default=True),
        "the chart makes an NVIDIADriver for all nodes, and NVIDIADriver ubuntu is declared too",
        alongside=(DRIVER,),
    ),
    Case(
        "default-driver-takes-all-nodes",
        _crd("v26.7.0", default=True),
        _crd("v25.10.1", default=True),
        "before v26.7.0 the operator refuses both, and v25.10.1 is installed",
        alongside=(DRIVER,),
    ),
    Case(
        "runtime-class-of-operator-gone",
        deployment(),
        deployment({"spec.template.spec.runtimeClassName": "nvidia"}),
        "asks for the RuntimeClass nvidia, and Release gpu/gpu-operator has cdi.nriPluginEnabled",
        ADVICE,
        alongside=(NRI,),
    ),
    Case(
        "kai-queue-not-read",
        deployment(IN_KAI_QUEUE),
        deployment({'metadata.labels."kai.scheduler/queue"': "research"}),
        "the label kai.scheduler/queue names the queue research, and the default scheduler takes "
        "the pods",
        ADVICE,
    ),
    Case(
        "kai-queue-not-read",
        deployment(IN_KAI_QUEUE),
        deployment({'metadata.annotations."kai.scheduler/queue"': "research", **KAI}),
        "names the queue research in an annotation",
        ADVICE,
    ),
    Case(
        "kai-queue-not-read",
        deployment({**IN_KAI_QUEUE, **OF_RUNAI}),
        deployment({**OF_RUNAI, **KAI}),
        "names the queue research in the label of Run:ai",
        ADVICE,
    ),
    Case(
        "kai-queue-without-parent",
        deployment({**IN_KAI_QUEUE, 'metadata.labels."kai.scheduler/queue"': "team"}),
        deployment(IN_KAI_QUEUE),
        "names Queue research, which has no parentQueue",
        ADVICE,
        alongside=(FLEET, _queue("research"), _queue("team", "research")),
    ),
    Case(
        "kai-node-pool-without-shard",
        _queue("team", "all"),
        _queue("team", "all", POOL),
        "is of the node pool train, as Node gpu-1 is, and no SchedulingShard here has",
        ADVICE,
        alongside=(_node(labels=POOL), _queue("all", labels=POOL)),
    ),
    Case(
        "kai-parent-of-other-node-pool",
        _queue("team", "pool", POOL),
        _queue("team", "all", POOL),
        "is of the node pool train, and its parent Queue all is not",
        ADVICE,
        alongside=(SHARD, _queue("all"), _queue("pool", labels=POOL)),
    ),
    Case(
        "mig-claim-without-slices",
        claim(),
        claim(device_class="mig.nvidia.com", selectors=None),
        "asks for a MIG slice; Node gpu-1 has the layout all-disabled",
        ADVICE,
        alongside=(_dra(), _node(labels=SLICES)),
    ),
    Case(
        "compute-domain-waits-for-nodes",
        _domain(4),
        _domain(8),
        "waits for 8 nodes, and Deployment ml/chat has 4 pod(s) with a channel of it",
        ADVICE,
        alongside=(_claiming(),),
    ),
    Case(
        "dra-dynamic-mig-without-mig",
        _dra(),
        _dra({"featureGates": {"DynamicMIG": True}}),
        "switches DynamicMIG on, and the GPU of Node gpu-1 has no MIG",
        ADVICE,
        alongside=(_node(labels={"nvidia.com/gpu.product": "NVIDIA-L4"}),),
    ),
    Case(
        "kueue-queue-in-annotation",
        deployment(QUEUED),
        deployment({f'metadata.annotations."{QUEUE}"': "team"}),
        "names LocalQueue ml/team in an annotation",
        ADVICE,
        alongside=(FLEET, LOCAL),
    ),
    Case(
        "kueue-claims-without-mapping",
        _claiming(),
        _claiming(QUEUED),
        "makes claims, and Configuration kueue has no deviceClassMappings",
        ADVICE,
        alongside=(_configuration({}),),
    ),
    Case(
        "nim-cache-not-tolerated",
        _cache(tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}]),
        _cache(),
        "has no tolerations, and NIMService nim/ocr, which uses it, has",
        ADVICE,
        alongside=(SERVICE,),
    ),
    Case(
        "toolkit-too-old-for-containerd",
        _operator("v25.10.1", {"toolkit": {"version": "v1.17.8-ubuntu20.04"}}),
        _operator("v25.10.1", {"toolkit": {"version": "v1.14.6-centos7"}}),
        "installs the toolkit v1.14.6-centos7, and Node gpu-1 runs containerd://2.1.5",
        alongside=(_node(),),
    ),
    Case(
        "exporter-may-not-read-pods",
        _exporter("v26.7.0"),
        _exporter("v25.10.1"),
        "asks the exporter for labels of pods, and v25.10.1 gives it no right to read them",
        ADVICE,
        alongside=(),
    ),
    Case(
        "sentinel-misses-dcgm",
        _release("nvsentinel", "v1.0.0", {"global": {"gpuHealthMonitor": {"enabled": False}}}),
        _release("nvsentinel", "v1.0.0", {}),
        "watches GPUs, and Release gpu/gpu-operator has dcgm.enabled: false",
        ADVICE,
        alongside=(_operator("v26.3.0", {"dcgm": {"enabled": False}}),),
    ),
    Case(
        "sentinel-misses-dra-dcgm",
        _release("nvsentinel", "v1.24.0", {}),
        _release("nvsentinel", "v1.20.0", {}),
        "is of v1.20.0, and Release gpu/gpu-operator makes a GPUCluster",
        ADVICE,
        alongside=(_operator("v26.7.0", {"gpuCluster": {"deployCR": True}}),),
    ),
    Case(
        "claims-start-no-node",
        _claiming({"spec.template.spec.resourceClaims[0].resourceClaimTemplateName": "network"}),
        _claiming(),
        "claims GPUs, and NodePool zero starts with no node",
        ADVICE,
        alongside=(claim(), ZERO),
    ),
    Case(
        "gke-critical-pods-without-quota",
        _dra({"nvidiaDriverRoot": "/home/kubernetes/bin/nvidia"}, space="kube-system"),
        _dra({"nvidiaDriverRoot": "/home/kubernetes/bin/nvidia"}),
        "is installed into gpu of a GKE cluster (Node gpu-1), and no ResourceQuota is there",
        ADVICE,
        alongside=(_node(labels=GKE),),
    ),
    Case(
        "dra-driver-root-of-gke",
        _dra({"nvidiaDriverRoot": "/home/kubernetes/bin/nvidia"}, space="kube-system"),
        _dra(space="kube-system"),
        "does not say where the driver of Node gpu-1 is",
        ADVICE,
        alongside=(_node(labels=GKE),),
    ),
    Case(
        "kubelet-hangs-with-claims",
        deployment(),
        _claiming(),
        "makes claims, and the kubelet of Node gpu-1 is v1.34.0",
        ADVICE,
        alongside=(_node(kubelet="v1.34.0"), claim()),
    ),
    Case(
        "kubelet-older-than-claims",
        deployment(),
        _claiming(),
        "the kubelet of Node gpu-1 is v1.33.1, and Node server is of the control plane with",
        ADVICE,
        alongside=(_node(kubelet="v1.33.1"), _node("server", SERVER, "v1.34.1"), claim()),
    ),
    Case(
        "device-plugin-selects-no-node",
        _plugin({"gfd": {"enabled": True}}),
        _plugin({}),
        "runs on nodes with a label of Node Feature Discovery, and Node gpu-1 has none",
        ADVICE,
        alongside=(_node(),),
    ),
    Case(
        "pods-repelled-by-chosen-nodes",
        job({**CHOOSES, "spec.template.spec.tolerations": TOLERATION}),
        job(CHOOSES),
        "chooses Node gpu-1 by its labels, and does not tolerate its taint",
        ADVICE,
        alongside=(_node(labels={"team": "ml"}, taints=TAINT), _node("other")),
    ),
    Case(
        "pods-exceed-nodes",
        job({"spec.parallelism": 8, "spec.completions": 8}),
        job({"spec.parallelism": 32, "spec.completions": 32}),
        "asks for 32 GPUs, and all nodes here have 16",
        ADVICE,
        alongside=(_node(), _node("gpu-2")),
        settings={"rules": {"training-without-queue-or-gang": "off"}},
    ),
    Case(
        "namespace-override-elsewhere",
        _dra({"namespaceOverride": "gpu"}),
        _dra({"namespaceOverride": "gpu-operator"}),
        "sends its objects to gpu-operator, which nothing here makes, and is installed into gpu",
        ADVICE,
        alongside=(_object("Namespace", "v1", "gpu"),),
    ),
    Case(
        "claims-of-unpublished-driver",
        claim(device_class="other.example.com"),
        claim(),
        "asks for devices of gpu.nvidia.com, and ResourceSlice gpu-1-dra.cpu is of dra.cpu",
        ADVICE,
        alongside=(_slice("dra.cpu"),),
    ),
    Case(
        "device-taint-against-claims",
        _taint_rule(pool="gpu-1"),
        _taint_rule(),
        "taints every GPU (NoExecute), and ResourceClaimTemplate ml/gpu does not tolerate it",
        ADVICE,
        alongside=(claim(),),
    ),
    Case(
        "autoscaler-does-not-know-shares",
        _shares("false"),
        _shares("true"),
        "publishes shares as nvidia.com/gpu.shared, and Release gpu/cluster-autoscaler is",
        ADVICE,
        alongside=(
            _release("cluster-autoscaler", "9.46.6", {"autoDiscovery": {"clusterName": "ml"}}),
        ),
        settings={"rules": {"sharing-name-collides": "off"}},
    ),
)
