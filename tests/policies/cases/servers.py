"""Cases of rules/servers.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, manifest
from tests.policies.cases.workloads import CONTAINER, LIMITS, SHARED_MEMORY, deployment, job
from tests.policies.objects import REMOVE

TWO = {
    "spec.replicas": 1,
    LIMITS: {"nvidia.com/gpu": 2},
    f"{CONTAINER}.args": ["--tensor-parallel-size=2"],
}

HIDDEN = {
    "spec.replicas": 1,
    LIMITS: {"nvidia.com/gpu": 2},
    f"{CONTAINER}.image": "vllm/vllm-openai:v0.11.0",
    f"{CONTAINER}.args": ["--model=$(MODEL)", "--tensor-parallel-size=$(SIZE)"],
}

PORT = {f"{CONTAINER}.ports": [{"containerPort": 8000}]}

FIRST = (
    Case(
        "gpu-processes-without-shared-memory",
        deployment({**TWO, **SHARED_MEMORY}),
        deployment(TWO),
        "starts 2 processes that communicate by /dev/shm, without a volume there",
        Level.ADVISORY,
    ),
    # kweinmeister/vllm-gke-terraform kubernetes.tf: the size is a variable
    Case(
        "gpu-processes-without-shared-memory",
        deployment({**HIDDEN, **SHARED_MEMORY}),
        deployment(HIDDEN),
        "runs vLLM with 2 GPUs, whose processes communicate by /dev/shm, without a volume there",
        Level.ADVISORY,
    ),
    Case(
        "gpu-server-without-readiness",
        deployment(PORT),
        deployment({**PORT, f"{CONTAINER}.readinessProbe": REMOVE}),
        "serves, and has neither a readiness nor a startup probe",
        Level.ADVISORY,
    ),
)


VLLM = {
    f"{CONTAINER}.image": "vllm/vllm-openai:v0.11.0",
    f"{CONTAINER}.args": ["--model=Qwen/Qwen3-0.6B"],
}

SERVICE = manifest(
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "vllm", "namespace": "ml"},
        "spec": {"selector": {"app": "vllm"}, "ports": [{"port": 8000}]},
    }
)

TRITON = {
    f"{CONTAINER}.image": "nvcr.io/nvidia/tritonserver:25.08-py3",
    f"{CONTAINER}.command": ["tritonserver", "--model-repository=/models"],
}

LIVE = {"httpGet": {"path": "/health", "port": 8000}, "initialDelaySeconds": 60}


def ready(port: int) -> dict[str, object]:
    """Triton's readiness probe."""
    return {"httpGet": {"path": "/v2/health/ready", "port": port}}


CASES = (
    *FIRST,
    Case(
        "vllm-port-of-service",
        deployment({**VLLM, "spec.template.spec.enableServiceLinks": False}),
        deployment(VLLM),
        "Kubernetes sets VLLM_PORT to tcp://ADDRESS:PORT",
        Level.ADVISORY,
        (FLEET, SERVICE),
    ),
    Case(
        "gpu-server-in-job",
        job(VLLM),
        job({**VLLM, "spec.activeDeadlineSeconds": REMOVE}),
        "starts a model server in a Job without a deadline",
        Level.ADVISORY,
    ),
    Case(
        "gpu-liveness-before-load",
        deployment({**VLLM, f"{CONTAINER}.livenessProbe": {**LIVE, "failureThreshold": 30}}),
        deployment({**VLLM, f"{CONTAINER}.livenessProbe": LIVE}),
        "is stopped 80 s after its start",
        Level.ADVISORY,
    ),
    Case(
        "triton-probe-of-other-port",
        deployment({**TRITON, f"{CONTAINER}.readinessProbe": ready(8000)}),
        deployment({**TRITON, f"{CONTAINER}.readinessProbe": ready(8002)}),
        "probes /v2/health on port 8002",
    ),
)
