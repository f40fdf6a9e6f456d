"""Cases of rules/pairs.py: bounds of Volcano's queues, what pools of model servers select,
catalogues of OpenShift, and exporters next to one another."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing
from tests.policies.cases.pair_objects import node, of_kind, operator, release
from tests.policies.cases.workloads import CONTAINER, deployment

ADVICE = Level.ADVISORY
_VOLCANO = "scheduling.volcano.sh/v1beta1"
_GPUS = "nvidia.com/gpu"
_POOLS = "inference.networking.k8s.io/v1"


def _job(pods: int, least: int | None = None) -> Thing:
    limits = {_GPUS: 4, "cpu": 4, "memory": "8Gi"}
    containers = [{"name": "a", "image": "b", "resources": {"limits": limits}}]
    task = {"name": "w", "replicas": pods, "template": {"spec": {"containers": containers}}}
    spec = {
        "schedulerName": "volcano",
        "minAvailable": least or pods,
        "queue": "team",
        "tasks": [task],
    }
    return of_kind("Job", "batch.volcano.sh/v1alpha1", "train", spec, namespace="ml")


def _queue(name: str, **spec: Any) -> Thing:
    return of_kind("Queue", _VOLCANO, name, {"weight": 1, **spec})


def _ranks(workers: int) -> Thing:
    """A PyTorchJob: its master and workers, of four GPUs each, start together."""
    limits = {_GPUS: 4, "cpu": 4, "memory": "8Gi"}
    container = {"name": "pytorch", "image": "b", "resources": {"limits": limits}}
    template = {"spec": {"containers": [container]}}
    roles = {"Master": 1, "Worker": workers}
    specs = {role: {"replicas": pods, "template": template} for role, pods in roles.items()}
    policy = {"schedulingPolicy": {"queue": "a"}, "activeDeadlineSeconds": 3600}
    spec = {"runPolicy": policy, "pytorchReplicaSpecs": specs}
    return of_kind("PyTorchJob", "kubeflow.org/v1", "train", spec, namespace="ml")


def _pool(app: str, picker: str = "chat-epp") -> Thing:
    reference = {"name": picker, "port": {"number": 9002}}
    spec = {
        "selector": {"matchLabels": {"app": app}},
        "targetPorts": [{"number": 8000}],
        "endpointPickerRef": reference,
    }
    return of_kind("InferencePool", _POOLS, "chat", spec, namespace="ml")


_PICKER = of_kind("Service", "v1", "chat-epp", {"ports": [{"port": 9002}]}, namespace="ml")
_CHANNEL = "operators.coreos.com/v1alpha1"


def _channel(name: str) -> Thing:
    spec = {"name": "gpu-operator-certified", "source": "certified-operators", "channel": name}
    spec["sourceNamespace"] = "openshift-marketplace"
    return of_kind("Subscription", _CHANNEL, "gpu", spec, namespace="nvidia-gpu-operator")


def _cluster() -> Thing:
    thing = of_kind("ClusterVersion", "config.openshift.io/v1", "version", {})
    thing.properties["status"] = {"desired": {"version": "4.16.30"}}
    return thing


_RUNS = {"name": "exporter", "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1-4.6.0-ubi9"}
_POD = {"metadata": {"labels": {"app": "e"}}, "spec": {"containers": [_RUNS]}}
_DAEMON_SPEC = {"selector": {"matchLabels": {"app": "e"}}, "template": _POD}
_DAEMONS = of_kind("DaemonSet", "apps/v1", "exporter", _DAEMON_SPEC, namespace="monitoring")


def _backend(service: str) -> Thing:
    reference = {"name": service, "namespace": "ml", "kind": "Service", "port": 80}
    spec = {"schema": {"name": "OpenAI"}, "backendRef": reference}
    return of_kind("AIServiceBackend", "aigateway.envoyproxy.io/v1alpha1", "llama", spec)


_PREDICTOR = {"containers": [{"name": "kserve-container", "image": "mock"}]}
_SERVED_AS = "serving.kserve.io/v1beta1"
_SERVED = of_kind(
    "InferenceService", _SERVED_AS, "llama", {"predictor": _PREDICTOR}, namespace="ml"
)


def _ollama(library: str) -> Thing:
    variables = [{"name": "OLLAMA_LLM_LIBRARY", "value": library}]
    return release("ollama", "1.33.0", {"image": {"tag": "0.12.6"}, "extraEnv": variables})


_SERVING = deployment({f"{CONTAINER}.ports": [{"containerPort": 8000}]})


def _pod(gpus: int) -> Thing:
    limits = {_GPUS: gpus, "cpu": 4, "memory": "8Gi"}
    spec = {"containers": [{"name": "a", "image": "b", "resources": {"limits": limits}}]}
    return of_kind("Pod", "v1", "large", spec, namespace="ml")


def _flavor(label: str) -> Thing:
    spec = {"nodeLabels": {label: "nvidia-l4"}}
    return of_kind("ResourceFlavor", "kueue.x-k8s.io/v1beta1", "gpu", spec)


def _sharing_plugin(*args: str) -> Thing:
    image = "docker.io/projecthami/volcano-vgpu-device-plugin:v1.11.0"
    mount = {"name": "plugins", "mountPath": "/var/lib/kubelet/device-plugins"}
    container = {"name": "a", "image": image, "args": list(args), "volumeMounts": [mount]}
    volume = {"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}
    labels = {"name": "vgpu"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "volumes": [volume]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return of_kind("DaemonSet", "apps/v1", "vgpu", spec, namespace="volcano")


_SHARES = of_kind("ConfigMap", "v1", "volcano-vgpu-device-config", None, namespace="volcano")
_GKE_NODE = node(labels={"cloud.google.com/gke-accelerator": "nvidia-l4"})


def _set(name: str) -> Thing:
    container = {"name": "a", "image": "b", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    probe = {"tcpSocket": {"port": 8080}}
    template = {"spec": {"containers": [{**container, "readinessProbe": probe}]}}
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}
    return of_kind("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", name, spec, namespace="ml")


def _of_set(name: str) -> Thing:
    spec = {"selector": {"leaderworkerset.sigs.k8s.io/name": name}, "ports": [{"port": 8080}]}
    return of_kind("Service", "v1", "leader", spec, namespace="ml")


_PICKER_SPEC = {"selector": {"app": "picker"}, "ports": [{"name": "grpc", "port": 9002}]}


def _picked(port: int) -> Thing:
    """opendatahub-io/kserve#1097: the picker on the port of the model server."""
    spec = {
        "selector": {"matchLabels": {"app": "chat"}},
        "targetPorts": [{"number": 8000}],
        "endpointPickerRef": {"name": "picker", "port": {"number": port}},
    }
    return of_kind("InferencePool", "inference.networking.k8s.io/v1", "chat", spec, namespace="ml")


CASES = (
    Case(
        "port-name-absent",
        _picked(9002),
        _picked(8000),
        "asks its endpoint picker on port 8000, and Service ml/picker has other ports",
        ADVICE,
        alongside=(FLEET, of_kind("Service", "v1", "picker", _PICKER_SPEC, namespace="ml")),
    ),
    # llm-on-gke/vllm-inference vllm-deploy-lws-deepseek.yaml
    Case(
        "service-selects-nothing",
        _of_set("vllm-dps"),
        _of_set("vllm"),
        "selects pods of the LeaderWorkerSet vllm, which is not here; LeaderWorkerSet ml/vllm-dps",
        ADVICE,
        alongside=(_set("vllm-dps"),),
    ),
    Case(
        "volcano-queue-too-small",
        _job(2),
        _job(3),
        "requests 12 GPUs, and Queue team may use 8",
        ADVICE,
        alongside=(_queue("team", capability={_GPUS: "8"}),),
    ),
    Case(
        "volcano-queue-too-small",
        _job(3, 2),
        _job(3, 3),
        "requests 12 GPUs, and Queue team may use 8",
        ADVICE,
        alongside=(_queue("team", capability={_GPUS: "8"}),),
    ),
    *(
        Case(
            "volcano-queue-above-parent",
            _queue("team", parent="all", **{field: {_GPUS: 8}}),
            _queue("team", parent="all", **{field: {_GPUS: 16}}),
            f"has 16 GPUs as {field}, and its parent Queue all has 8",
            ADVICE,
            alongside=(_queue("all", **{field: {_GPUS: "8"}}),),
        )
        for field in ("capability", "deserved")
    ),
    # volcano-sh/volcano#5634
    Case(
        "volcano-queue-above-parent",
        _queue("team", parent="all", guarantee={"resource": {_GPUS: 0}}),
        _queue("team", parent="all", guarantee={"resource": {_GPUS: 8}}),
        "has 8 GPUs as guarantee, and its parent Queue all has none",
        ADVICE,
        alongside=(_queue("all", capability={_GPUS: 8}),),
    ),
    Case(
        "pods-exceed-nodes",
        _ranks(1),
        _ranks(2),
        "requests 12 GPUs, and all nodes here have 8",
        ADVICE,
        alongside=(node(),),
        settings={"rules": {"training-without-queue-or-gang": "off"}},
    ),
    Case(
        "service-selects-nothing",
        _pool("chat"),
        _pool("chat-server"),
        "selects no pod of these files; Deployment ml/chat, on its port, has the labels",
        ADVICE,
        alongside=(_SERVING, _PICKER),
    ),
    Case(
        "named-object-absent",
        _pool("chat"),
        _pool("chat", picker="chat-ep"),
        "names the endpoint picker chat-ep, and there is none here, but Service ml/chat-epp",
        ADVICE,
        alongside=(_SERVING, _PICKER),
    ),
    Case(
        "named-object-absent",
        _channel("v26.3"),
        _channel("v26.7"),
        "names the channel v26.7, which catalogues of OpenShift 4.18 and later have, and",
        ADVICE,
        alongside=(_cluster(),),
    ),
    # NVIDIA/dcgm-exporter#126
    Case(
        "exporter-next-to-another",
        operator("v26.3.0", {"dcgmExporter": {"enabled": False}}),
        operator("v26.3.0", {}),
        "runs an exporter where Release gpu/dcgm-exporter runs one",
        ADVICE,
        alongside=(release("dcgm-exporter", "4.8.2", {}),),
    ),
    Case(
        "exporter-next-to-another",
        operator("v26.3.0", {"dcgmExporter": {"enabled": False}}),
        operator("v26.3.0", {}),
        "runs an exporter where DaemonSet monitoring/exporter runs one",
        ADVICE,
        alongside=(_DAEMONS,),
    ),
    # kserve/kserve#4595
    Case(
        "gateway-backend-leads-back",
        _backend("llama-predictor-00001-private"),
        _backend("llama-predictor"),
        "names the Service llama-predictor of InferenceService ml/llama, which leads back",
        ADVICE,
        alongside=(_SERVED,),
    ),
    # ollama/ollama#12797
    Case(
        "chart-program-refuses",
        _ollama("cuda_v12"),
        _ollama("cuda"),
        "sets OLLAMA_LLM_LIBRARY to cuda, and the libraries of Ollama 0.12.6 are cuda_v12",
        ADVICE,
    ),
    # NVIDIA/ai-cloud-validation#187
    Case(
        "pods-exceed-nodes",
        _pod(8),
        _pod(16),
        "requests 16 GPUs in one pod, and no node here has as many: Node gpu-1 has 8",
        ADVICE,
        alongside=(node(), node("gpu-2")),
    ),
    # run-house/kubetorch#2048
    Case(
        "selector-looks-elsewhere",
        _flavor("cloud.google.com/gke-accelerator"),
        _flavor("nvidia.com/gpu.product"),
        "chooses nodes by a label of GPU Feature Discovery, which nothing here installs, and Node",
        ADVICE,
        alongside=(_GKE_NODE,),
    ),
    # Project-HAMi/volcano-vgpu-device-plugin#106
    Case(
        "device-plugin-without-socket",
        _sharing_plugin("--device-config-namespace=volcano"),
        _sharing_plugin(),
        "looks for volcano-vgpu-device-config in kube-system and volcano-system, and ConfigMap",
        ADVICE,
        alongside=(_SHARES,),
    ),
)
