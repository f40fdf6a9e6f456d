"""Cases of rules/pairs.py about servers, and what is written next to them."""

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing
from tests.policies.cases.pair_objects import LOCAL, of_kind
from tests.policies.cases.queues import LOCAL as RESEARCH
from tests.policies.cases.queues import RESOURCE, queue
from tests.policies.cases.workloads import CONTAINER, deployment
from tests.policies.objects import REMOVE

ADVICE = Level.ADVISORY
QUEUE_LENGTH = {"type": "rabbitmq", "metadata": {"queueName": "a", "value": "5"}}
QUEUE = 'metadata.labels."kueue.x-k8s.io/queue-name"'


def _volume(mode: str, size: str = "50Gi") -> Thing:
    spec = {"accessModes": [mode], "resources": {"requests": {"storage": size}}}
    return of_kind("PersistentVolumeClaim", "v1", "models", spec, namespace="ml")


def _mounting(pods: int, name: str = "models", volume: str = "m") -> dict[str, object]:
    claim = {"name": volume, "persistentVolumeClaim": {"claimName": name}}
    return {"spec.replicas": pods, "spec.template.spec.volumes": [claim]}


def _scaled(name: str, pool: str = "", least: int = 0) -> Thing:
    query = {"query": f'max(inference_pool_average_queue_size{{name="{pool}"}})', "threshold": "2"}
    address = {"serverAddress": "http://prometheus:9090", **query}
    by_pool = {"type": "prometheus", "metadata": address}
    triggers = [by_pool if pool else QUEUE_LENGTH]
    sizes = {"minReplicaCount": least, "maxReplicaCount": 4}
    spec = {"scaleTargetRef": {"name": name}, **sizes, "triggers": triggers}
    return of_kind("ScaledObject", "keda.sh/v1alpha1", "chat", spec, namespace="ml")


def _by_metric(metric: str) -> Thing:
    one = {"serverAddress": "http://prometheus:9090", "query": f"max({metric})", "threshold": "1"}
    one["ignoreNullValues"] = "false"
    spec = {"scaleTargetRef": {"name": "chat"}, "minReplicaCount": 1, "maxReplicaCount": 4}
    spec["triggers"] = [{"type": "prometheus", "metadata": one}]
    return of_kind("ScaledObject", "keda.sh/v1alpha1", "chat", spec, namespace="ml")


def _budget(least: int) -> Thing:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": "chat"}}}
    return of_kind("PodDisruptionBudget", "policy/v1", "chat", spec, namespace="ml")


_SOCKET = {"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}


def _plugin(volume: dict[str, object], **more: object) -> Thing:
    container = {"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.1", **more}
    pod = {"containers": [container], "volumes": [volume]}
    labels = {"app": "plugin"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return of_kind("DaemonSet", "apps/v1", "plugin", spec, namespace="kube-system")


def _sharing() -> Thing:
    shares = "timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}"
    data = {"any": f"version: v1\nsharing:\n  {shares}"}
    thing = of_kind("ConfigMap", "v1", "sharing", {}, namespace="kube-system")
    thing.properties["data"] = data
    return thing


def _volcano(named: str) -> Thing:
    limits = {"nvidia.com/gpu": 1, "cpu": 4, "memory": "8Gi"}
    containers = [{"name": "a", "image": "b", "resources": {"limits": limits}}]
    task = {"name": "w", "replicas": 1, "template": {"spec": {"containers": containers}}}
    spec = {"schedulerName": "volcano", "minAvailable": 1, "queue": named, "tasks": [task]}
    return of_kind("Job", "batch.volcano.sh/v1alpha1", "train", spec, namespace="ml")


def _volcano_queue() -> Thing:
    spec = {"weight": 1}
    return of_kind("Queue", "scheduling.volcano.sh/v1beta1", "research", spec)


def _nodes(more: dict[str, object]) -> Thing:
    group = {"clusterName": "ml", "instanceTypes": ["g5.xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}
    size = {"minSize": 0, "maxSize": 2, "desiredSize": 0}
    group["nodeRepairConfig"] = {"enabled": True}
    group["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    group["tags"] = {"owner": "ml", "cost-center": "1", "environment": "prod"}
    return Thing("aws:eks/nodeGroup:NodeGroup", {**group, "scalingConfig": size, **more}, "gpu")


def _claim(device_class: str) -> Thing:
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return of_kind("ResourceClaimTemplate", "resource.k8s.io/v1", "one", spec, namespace="ml")


def _monitor(port: str, app: str = "chat") -> Thing:
    spec = {"selector": {"matchLabels": {"app": app}}, "endpoints": [{"port": port}]}
    return of_kind("ServiceMonitor", "monitoring.coreos.com/v1", "chat", spec, namespace="ml")


def _flavor(topology: str) -> Thing:
    spec = {"nodeLabels": {"pool": "h100"}, "topologyName": topology}
    return of_kind("ResourceFlavor", "kueue.x-k8s.io/v1beta2", "h100", spec)


_TOPOLOGY = of_kind(
    "Topology", "kueue.x-k8s.io/v1beta2", "racks", {"levels": [{"nodeLabel": "rack"}]}
)
_HTTPS = of_kind(
    "Service",
    "v1",
    "chat",
    {"selector": {"app": "chat-pods"}, "ports": [{"name": "https", "port": 8443}]},
    namespace="ml",
    labels={"app": "chat"},
)
_PODS = {"spec.replicas": 2, "spec.template.metadata.labels": {"app": "chat"}}
_SERVES = {f"{CONTAINER}.command": ["python3", "serve.py"]}
_POOLS = "inference.networking.k8s.io/v1"


_ROUTER = [
    "python3",
    "-m",
    "sglang_router.launch_router",
    "--service-discovery",
    "--selector",
    "role=worker",
]


def _role(resource: str) -> Thing:
    role = of_kind("Role", "rbac.authorization.k8s.io/v1", "router", namespace="ml")
    role.properties["rules"] = [{"apiGroups": [""], "resources": [resource], "verbs": ["list"]}]
    return role


def _downloading(size: str) -> dict[str, object]:
    mount = {"name": "cache", "mountPath": "/root/.cache"}
    return {
        f"{CONTAINER}.args": ["--model", "Qwen/Qwen2.5-1.5B-Instruct"],
        f"{CONTAINER}.volumeMounts": [mount],
        "spec.template.spec.volumes": [{"name": "cache", "emptyDir": {"sizeLimit": size}}],
    }


def _service(app: str) -> Thing:
    spec = {"selector": {"app": app}, "ports": [{"port": 80, "targetPort": 8000}]}
    return of_kind("Service", "v1", "chat", spec, namespace="ml")


def _pool(port: int) -> Thing:
    spec = {"selector": {"matchLabels": {"app": "chat"}}, "targetPorts": [{"number": port}]}
    return of_kind("InferencePool", _POOLS, "chat", spec, namespace="ml")


CASES = (
    Case(
        "selector-looks-elsewhere",
        _monitor("https"),
        _monitor("https", app="chat-pods"),
        "selects Services by their labels, and Service ml/chat has these as labels of its pods",
        ADVICE,
        alongside=(FLEET, _HTTPS, deployment(_PODS)),
    ),
    Case(
        "pods-lack-permission",
        deployment({f"{CONTAINER}.command": _ROUTER[:3]}),
        deployment({f"{CONTAINER}.command": _ROUTER}),
        "finds its workers by Kubernetes, and no Role here allows to list pods",
        ADVICE,
        alongside=(FLEET, _role("services")),
    ),
    Case(
        "download-room-below-weights",
        deployment(_downloading("40Gi")),
        deployment(_downloading("2Gi")),
        "may download 2.0 GiB, and the weights of Qwen/Qwen2.5-1.5B-Instruct have 2.9 GiB",
        ADVICE,
        alongside=(),
    ),
    Case(
        "download-room-below-weights",
        deployment(_downloading("40Gi")),
        deployment({**_downloading("40Gi"), **_mounting(1, volume="cache")}),
        "downloads to the volume of PersistentVolumeClaim ml/models, which requests 2Gi, and the "
        "weights of Qwen/Qwen2.5-1.5B-Instruct have 2.9 GiB",
        ADVICE,
        alongside=(_volume("ReadWriteOnce", "2Gi"),),
    ),
    Case(
        "service-selects-nothing",
        _service("chat"),
        _service("chat-server"),
        "selects no pod of these files; Deployment ml/chat, on its port, has the labels",
        ADVICE,
        alongside=(FLEET, deployment({**_PODS, f"{CONTAINER}.ports": [{"containerPort": 8000}]})),
    ),
    Case(
        "pods-name-absent-object",
        deployment(_mounting(1)),
        deployment(_mounting(1, "preprov-pvc")),
        "names the PersistentVolumeClaim preprov-pvc, and there is none here, but "
        "PersistentVolumeClaim ml/models",
        ADVICE,
        alongside=(FLEET, _volume("ReadWriteOnce")),
    ),
    Case(
        "port-name-absent",
        _pool(8000),
        _pool(3000),
        "leads to port 3000, and Deployment ml/chat, whose pods it selects, has other ports",
        ADVICE,
        alongside=(FLEET, deployment({**_PODS, f"{CONTAINER}.ports": [{"containerPort": 8000}]})),
    ),
    Case(
        "kueue-local-queue-absent",
        deployment({QUEUE: "team"}),
        deployment({QUEUE: "other"}),
        "names queue other, which is not here; LocalQueue ml/team is",
        ADVICE,
        alongside=(FLEET, LOCAL),
    ),
    Case(
        "scaler-of-no-workload",
        _scaled("chat"),
        _scaled("vllm"),
        "scales vllm, which is not here; Deployment ml/chat is",
        ADVICE,
        alongside=(FLEET, deployment()),
    ),
    Case(
        "scaler-of-no-workload",
        _by_metric("vllm:kv_cache_usage_perc"),
        _by_metric("vllm:gpu_cache_usage_perc"),
        "reads vllm:gpu_cache_usage_perc, and Deployment ml/chat runs vllm/vllm-openai:v0.12.0",
        ADVICE,
        alongside=(FLEET, deployment({f"{CONTAINER}.image": "vllm/vllm-openai:v0.12.0"})),
    ),
    Case(
        "gpu-image-removed",
        deployment({**_SERVES, f"{CONTAINER}.image": "nvidia/cuda:11.0.3-base-ubuntu20.04"}),
        deployment({**_SERVES, f"{CONTAINER}.image": "nvidia/cuda:11.0-base"}),
        "runs nvidia/cuda:11.0-base",
        ADVICE,
    ),
    Case(
        "gpu-image-removed",
        deployment({f"{CONTAINER}.image": "lmsysorg/sglang:v0.5.16"}),
        deployment({f"{CONTAINER}.image": "lmsysorg/sglang:v0.5.16.0"}),
        "runs lmsysorg/sglang:v0.5.16.0",
        ADVICE,
    ),
    Case(
        "volume-of-one-node",
        deployment(_mounting(1)),
        deployment(_mounting(3)),
        "3 pods mount PersistentVolumeClaim ml/models, which is ReadWriteOnce",
        ADVICE,
        alongside=(FLEET, _volume("ReadWriteOnce")),
    ),
    Case(
        "volume-of-one-node",
        deployment(),
        deployment(_mounting(1)),
        "mounts PersistentVolumeClaim ml/models, which is ReadWriteOnce, and an autoscaler makes "
        "up to 4 pods of it",
        ADVICE,
        alongside=(FLEET, _volume("ReadWriteOnce"), _scaled("chat")),
    ),
    Case(
        "budget-blocks-every-drain",
        _budget(1),
        _budget(2),
        "lets no pod of Deployment ml/chat go",
        ADVICE,
        alongside=(FLEET, deployment(_PODS)),
    ),
    Case(
        "budget-blocks-every-drain",
        _budget(0),
        _budget(1),
        "lets no pod of Deployment ml/chat go",
        ADVICE,
        alongside=(FLEET, deployment({**_PODS, "spec.replicas": 3}), _scaled("chat", least=1)),
    ),
    Case(
        "device-plugin-without-socket",
        _plugin({"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}),
        _plugin({"name": "plugins", "emptyDir": {}}),
        "runs NVIDIA's device plugin without a volume of /var/lib/kubelet/device-plugins",
        ADVICE,
    ),
    # NVIDIA/k8s-device-plugin#615
    Case(
        "device-plugin-without-socket",
        _plugin(_SOCKET, env=[{"name": "CONFIG_FILE", "value": "/config/any"}]),
        _plugin(_SOCKET),
        "without CONFIG_FILE or --config-file, so it does not read ConfigMap",
        ADVICE,
        alongside=(_sharing(),),
    ),
    # volcano-sh/volcano pkg/webhooks/admission/jobs/validate/admit_job.go
    Case(
        "named-object-absent",
        _volcano("research"),
        _volcano("reserch"),
        "names the Queue reserch, and there is none here, but Queue research",
        ADVICE,
        alongside=(_volcano_queue(),),
    ),
    Case(
        "node-disk-below-images",
        _nodes({"diskSize": 100}),
        _nodes({}),
        "has disks of 20 GiB, and Deployment ml/chat runs a model server",
        ADVICE,
        alongside=(deployment({f"{CONTAINER}.image": "vllm/vllm-openai:v0.9.0"}),),
    ),
    # jordann6/gpu-platform karpenter.tf: "The 20Gi default fills before the GPU Operator finishes".
    Case(
        "node-disk-below-images",
        _nodes({"diskSize": 50}),
        _nodes({}),
        "has disks of 20 GiB, which hold the system and one image with CUDA",
        ADVICE,
    ),
    Case(
        "autoscaler-version-gone",
        of_kind("PodDisruptionBudget", "policy/v1", "chat", {"minAvailable": 1}),
        of_kind("PodDisruptionBudget", "policy/v1beta1", "chat", {"minAvailable": 1}),
        "is written in policy/v1beta1",
        ADVICE,
    ),
    Case(
        "quota-stranded",
        queue({"spec.cohortName": REMOVE, f"{RESOURCE}.borrowingLimit": REMOVE}),
        queue({"spec.cohortName": REMOVE, f"{RESOURCE}.borrowingLimit": REMOVE}, "second"),
        "has quota of GPUs, and no LocalQueue here leads to it",
        ADVICE,
        alongside=(FLEET, RESEARCH),
    ),
    Case(
        "named-object-absent",
        _flavor("racks"),
        _flavor("default"),
        "names the Topology default, and there is none here, but Topology racks",
        ADVICE,
        alongside=(FLEET, _TOPOLOGY),
    ),
    # GitOpsHub/kubernetes-ai-infrastructure 03-cel-selector.yaml, with another end of the name.
    Case(
        "named-object-absent",
        _claim("mig.nvidia.com"),
        _claim("gpu.nvidia.io"),
        "names the DeviceClass gpu.nvidia.io, which nothing here makes; NVIDIA's driver makes gpu",
        ADVICE,
        alongside=(FLEET,),
    ),
    Case(
        "named-object-absent",
        _scaled("chat", "chat-router"),
        _scaled("chat", "chat-router-epp"),
        "requests a metric of an InferencePool by a name that none has here, but InferencePool",
        ADVICE,
        alongside=(FLEET, of_kind("InferencePool", _POOLS, "chat-router", {}, namespace="ml")),
    ),
    Case(
        "pods-name-absent-object",
        deployment(_mounting(1)),
        deployment(_mounting(1, "model")),
        "names the PersistentVolumeClaim model, and there is none here, but "
        "PersistentVolumeClaim ml/models",
        ADVICE,
        alongside=(FLEET, _volume("ReadWriteOnce")),
    ),
    Case(
        "port-name-absent",
        _monitor("https"),
        _monitor("metrics"),
        "names the port metrics, and Service ml/chat, which it selects, has no port of this name",
        ADVICE,
        alongside=(FLEET, _HTTPS, deployment(_PODS)),
    ),
)
