"""Objects for cases of rules/pairs.py."""

from typing import Any

from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.device_claims import CLAIMING
from tests.policies.cases.workloads import CONTAINER
from tests.policies.objects import changed

GKE = {"cloud.google.com/gke-nodepool": "l4", "cloud.google.com/gke-accelerator": "nvidia-l4"}
QUEUE = "kueue.x-k8s.io/queue-name"
NO_GPU = {f"{CONTAINER}.resources": {"requests": {"memory": "16Gi"}, "limits": {"memory": "16Gi"}}}
HALF = {**NO_GPU, 'metadata.annotations."gpu-fraction"': "0.5"}
KAI = {"spec.template.spec.schedulerName": "kai-scheduler"}
IN_KAI_QUEUE = {**KAI, 'metadata.labels."kai.scheduler/queue"': "research"}
OF_RUNAI = {'metadata.labels."runai/queue"': "research"}
POOL = {"kai.scheduler/node-pool": "train"}


def release(chart: str, version: str, values: dict[str, Any], space: str = "gpu") -> Thing:
    properties = {"chart": chart, "version": version, "namespace": space, "values": values}
    return Thing("kubernetes:helm.sh/v3:Release", properties, chart)


def dra(more: dict[str, Any] | None = None, version: str = "0.5.0", space: str = "gpu") -> Thing:
    values = {"resources": {"gpus": {"enabled": False}}, **(more or {})}
    return release("dra-driver-nvidia-gpu", version, values, space)


def operator(version: str, values: dict[str, Any]) -> Thing:
    return release("gpu-operator", version, values)


def of_kind(kind: str, version: str, name: str, spec: Any = None, **metadata: Any) -> Thing:
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}
    return manifest(document if spec is None else {**document, "spec": spec})


def node(
    name: str = "gpu-1",
    labels: dict[str, str] | None = None,
    kubelet: str = "v1.36.1",
    taints: list[dict[str, str]] | None = None,
    gpus: int = 8,
    image: str = "Container-Optimized OS from Google",
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
                "osImage": image,
            },
        },
    }
    return manifest(document)


def queue(name: str, parent: str = "", labels: dict[str, str] | None = None) -> Thing:
    spec = {"resources": {"gpu": {"quota": 1, "limit": 8}}}
    above = {"parentQueue": parent} if parent else {}
    return of_kind("Queue", "scheduling.run.ai/v2", name, {**above, **spec}, labels=labels or {})


def domain(nodes: int, name: str = "nccl") -> Thing:
    spec = {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": "gpu"}}}
    return of_kind("ComputeDomain", "resource.nvidia.com/v1beta1", name, spec, namespace="ml")


def cache(**more: Any) -> Thing:
    source = {"ngc": {"modelPuller": "nvcr.io/nim/x:1", "pullSecret": "a", "authSecret": "b"}}
    spec = {"source": source, "storage": {"pvc": {"create": True, "size": "25Gi"}}, **more}
    return of_kind("NIMCache", "apps.nvidia.com/v1alpha1", "ocr", spec, namespace="nim")


def configuration(resources: dict[str, Any]) -> Thing:
    document = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    return manifest({**document, "metadata": {"name": "kueue"}, "resources": resources})


def crd(version: str, default: bool) -> Thing:
    crd = {"enabled": True, "deployDefaultCR": default}
    return operator(version, {"driver": {"nvidiaDriverCRD": crd}})


def claiming(changes: dict[str, Any] | None = None) -> Thing:
    return manifest(changed(CLAIMING, changes or {}))


def published(driver: str) -> Thing:
    spec = {"driver": driver, "nodeName": "gpu-1", "pool": {"name": "gpu-1", "generation": 1}}
    return of_kind("ResourceSlice", "resource.k8s.io/v1", f"gpu-1-{driver}", spec)


def plugin(values: dict[str, Any]) -> Thing:
    return release("nvidia-device-plugin", "0.18.0", values)


def taint_rule(**selector: str) -> Thing:
    chosen = {"driver": "gpu.nvidia.com", **selector}
    taint = {"key": "example.com/repair", "effect": "NoExecute"}
    spec = {"deviceSelector": chosen, "taint": taint}
    return of_kind("DeviceTaintRule", "resource.k8s.io/v1beta2", "repair", spec)


def shares(renamed: str) -> Thing:
    text = (
        f"version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: {renamed}\n"
        "    failRequestsGreaterThanOne: true\n"
        "    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
    )
    return plugin({"gfd": {"enabled": True}, "config": {"map": {"default": text}}})


def exporter(version: str) -> Thing:
    env = [{"name": "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", "value": "true"}]
    return operator(version, {"dcgmExporter": {"env": env}})


def service(**more: Any) -> Thing:
    spec = {
        "image": {"repository": "nvcr.io/nim/x", "tag": "1", "pullSecrets": ["a"]},
        "authSecret": "b",
        "storage": {"nimCache": {"name": "ocr"}},
        **more,
    }
    return of_kind("NIMService", "apps.nvidia.com/v1alpha1", "ocr", spec, namespace="nim")


def runtime_class(labels: dict[str, str]) -> Thing:
    metadata = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "kata"},
    }
    return manifest({**metadata, "handler": "kata", "scheduling": {"nodeSelector": labels}})


def feature_rule(feature: str, labels: dict[str, str]) -> Thing:
    matches = [{"feature": feature, "matchExpressions": {"a": {"op": "Exists"}}}]
    rules = [{"name": "site", "labels": labels, "matchFeatures": matches}]
    return of_kind("NodeFeatureRule", "nfd.k8s-sigs.io/v1alpha1", "site", {"rules": rules})


def nic_policy(labels: dict[str, str]) -> Thing:
    spec = {"nodeSelector": labels}
    return of_kind("NicNodePolicy", "mellanox.com/v1alpha1", "gpu-nodes", spec)


DRIVER = of_kind(
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
NRI = operator(
    "v26.3.1", {"cdi": {"enabled": True, "nriPluginEnabled": True}, "mig": {"strategy": "mixed"}}
)
SHARD = of_kind("SchedulingShard", "kai.scheduler/v1", "train", {"partitionLabelValue": "train"})
LOCAL = of_kind(
    "LocalQueue", "kueue.x-k8s.io/v1beta2", "team", {"clusterQueue": "all"}, namespace="ml"
)
SERVICE = service(tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}])
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
GPU_TAINT = [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
OTHER_BOARD = {"operator": "Equal", "value": "a10g"}
TOLERATION = [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]
CHOOSES = {"spec.template.spec.nodeSelector": {"team": "ml"}}
SERVER = {"node-role.kubernetes.io/control-plane": ""}
SLICES = {"nvidia.com/mig.config": "all-disabled", "nvidia.com/gpu.product": "NVIDIA-H100-PCIe"}
QUEUED = {f'metadata.labels."{QUEUE}"': "team"}
