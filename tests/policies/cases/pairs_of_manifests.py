"""Cases of rules/pairs.py that public manifests of model servers had: ports where nothing listens,
options written twice, file systems and caches without room, and pods that request nothing."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing
from tests.policies.cases.pair_objects import cache, of_kind
from tests.policies.cases.pairs_of_servers import server, serving
from tests.policies.cases.workloads import CONTAINER, deployment
from tests.policies.objects import REMOVE

ADVICE = Level.ADVISORY
VLLM = "vllm/vllm-openai:v0.11.0"
MODEL = ("--model", "Qwen/Qwen3-0.6B")
LABELS = {"app": "chat"}


def _service(**port: Any) -> Thing:
    spec = {"selector": LABELS, "ports": [{"port": 80, **port}]}
    return of_kind("Service", "v1", "chat", spec, namespace="ml")


def _pod_monitor(port: str) -> Thing:
    spec = {"selector": {"matchLabels": LABELS}, "podMetricsEndpoints": [{"port": port}]}
    return of_kind("PodMonitor", "monitoring.coreos.com/v1", "chat", spec, namespace="ml")


def _labelled(thing: Thing, *ports: dict[str, Any]) -> Thing:
    template = thing.properties["spec"]["template"]
    template.setdefault("metadata", {})["labels"] = LABELS
    template["spec"]["containers"][0]["ports"] = list(ports)
    return thing


def _filled(size: str, model: str = "deepseek-r1:1.7.3") -> Thing:
    puller = f"nvcr.io/nim/deepseek-ai/{model}"
    source = {"ngc": {"modelPuller": puller, "pullSecret": "a", "authSecret": "b"}}
    return cache(source=source, storage={"pvc": {"create": True, "size": size}})


def _engine(key: str, first: bool = False) -> Thing:
    """`first`: engine_kwargs is the first key of its entry of the list."""
    thing = serving("min_replicas: 1")
    model = "model_loading_config: {model_id: a, model_source: a/b}"
    engine = f"engine_kwargs:\n        tensor_parallel_size: 2\n        {key}: 1024"
    keys = (engine, model) if first else (model, engine)
    thing.properties["spec"]["serveConfigV2"] = (
        "applications:\n- name: a\n  import_path: ray.serve.llm:build_openai_app\n  args:\n"
        f"    llm_configs:\n    - {keys[0]}\n      {keys[1]}\n"
        "      deployment_config:\n        autoscaling_config: {min_replicas: 1, max_replicas: 1}\n"
    )
    return thing


_WRITES = (FLEET, _labelled(server(VLLM, *MODEL, "--port", "8000"), {"containerPort": 8000}))
_ASKS = {f"{CONTAINER}.image": VLLM, f"{CONTAINER}.args": list(MODEL)}
_LOCKED = {**_ASKS, f"{CONTAINER}.securityContext": {"readOnlyRootFilesystem": True}}
_TMP = {
    "spec.template.spec.volumes": [{"name": "tmp", "emptyDir": {}}],
    f"{CONTAINER}.volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
}

CASES = (
    # llm-on-gke/vllm-inference vllm-deploy-a4.yaml, with the options as a list.
    Case(
        "port-name-absent",
        _service(targetPort=8000),
        _service(targetPort=8080),
        "leads to the port 8080, and Deployment ml/chat serves on the one of its --port",
        ADVICE,
        alongside=_WRITES,
    ),
    Case(
        "port-name-absent",
        _service(port=8000),
        _service(port=80),
        "leads to the port 80, and Deployment ml/chat serves on the one of its --port",
        ADVICE,
        alongside=_WRITES,
    ),
    Case(
        "port-name-absent",
        _service(targetPort=8000),
        _service(targetPort=80),
        "leads to the port 80, and Deployment ml/chat serves on 8000",
        ADVICE,
        alongside=(FLEET, _labelled(server(VLLM, *MODEL))),
    ),
    # joedock/mlops-lab k8s/vllm/vllm-podmonitor.yaml
    Case(
        "port-name-absent",
        of_kind("PodMonitor", "monitoring.coreos.com/v1", "chat", {}, namespace="ml"),
        _pod_monitor("vllm-port"),
        "names the port vllm-port, and no port of Deployment ml/chat has a name",
        ADVICE,
        alongside=_WRITES,
    ),
    Case(
        "port-name-absent",
        _service(targetPort=8000),
        _service(targetPort="http"),
        "names the port http, and no port of Deployment ml/chat has a name",
        ADVICE,
        alongside=_WRITES,
    ),
    # UtopikLab/llm-rig k8s/inference/deployment.yaml
    Case(
        "gpu-image-removed",
        deployment({f"{CONTAINER}.image": "ghcr.io/ggml-org/llama.cpp:server-cuda"}),
        deployment({f"{CONTAINER}.image": "ghcr.io/ggml-org/llama.cpp:latest"}),
        "runs ghcr.io/ggml-org/llama.cpp:latest",
        ADVICE,
    ),
    # jimmyshah83/gpt-oss-k8s-gpu-inferencing k8s/gpt-oss-deploy.yaml
    Case(
        "ray-serve-keys-not-read",
        _engine("max_model_len"),
        _engine("max_model_length"),
        "writes a name below engine_kwargs that vLLM's engine does not have",
        ADVICE,
    ),
    Case(
        "ray-serve-keys-not-read",
        _engine("max_model_len", first=True),
        _engine("max_model_length", first=True),
        "writes a name below engine_kwargs that vLLM's engine does not have",
        ADVICE,
    ),
    # NVIDIA/k8s-nim-operator config/samples/nim/serving/advanced/multi-node
    Case(
        "nim-cache-below-weights",
        _filled("800Gi"),
        _filled("100Gi"),
        "has 100Gi, and the weights that nvcr.io/nim/deepseek-ai/deepseek-r1:1.7.3 downloads have",
        ADVICE,
    ),
    # Tapudp/docqa k8s/vllm/vllm-deployment.yaml
    Case(
        "server-option-twice",
        server(VLLM, *MODEL, "--served-model-name", "a", "b"),
        server(VLLM, *MODEL, "--served-model-name", "a", "--served-model-name", "b"),
        "writes an option of the server twice, with two values",
        ADVICE,
    ),
    # RPasquale/dspy-code deploy/k8s/vllm-deployment.yaml
    Case(
        "server-cannot-write",
        deployment({**_LOCKED, **_TMP}),
        deployment(_LOCKED),
        "runs vllm/vllm-openai:v0.11.0 with readOnlyRootFilesystem and without a volume",
        ADVICE,
    ),
    # kornsour/inference-platform phase-2-capstone/gpu-node/vllm-plain.yaml
    Case(
        "gpu-server-best-effort",
        deployment(_ASKS),
        deployment({**_ASKS, f"{CONTAINER}.resources.requests": REMOVE}),
        "runs vllm/vllm-openai:v0.11.0 and requests neither CPU nor memory",
        ADVICE,
    ),
)
