"""Cases of rules/model_fit.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, fleet_thing
from tests.policies.cases.workloads import CONTAINER, LIMITS, SHARED_MEMORY, WHOLE, deployment

SMALL = {'metadata.annotations."gpufleet.dev/model-params-b"': "1.1"}
LARGE = {'metadata.annotations."gpufleet.dev/model-params-b"': "30"}
HUGE = {'metadata.annotations."gpufleet.dev/model-params-b"': "70"}
NO_SLICES = fleet_thing(
    {"pools[0].sharing": {"exclusive": {}}, "pools[1].sharing": {"exclusive": {}}}
)
TRAINING = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
_KIMI = {
    **SHARED_MEMORY,
    f"{CONTAINER}.command": ["vllm", "serve", "moonshotai/Kimi-K2-Instruct-0905"],
    f"{CONTAINER}.args": ["--tensor-parallel-size=8"],
    f"{CONTAINER}.readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
}

CASES = (
    Case(
        "gpu-oversized-for-model",
        deployment({LIMITS: WHOLE, **LARGE, **TRAINING}),
        deployment({LIMITS: WHOLE, **SMALL, **TRAINING}),
        "6% of the memory would be used, and at least 35% should",
        alongside=(NO_SLICES,),
    ),
    Case(
        "model-exceeds-gpu-memory",
        deployment({LIMITS: WHOLE, **LARGE, **TRAINING}),
        deployment({LIMITS: WHOLE, **HUGE, **TRAINING}),
        "requests 1 x nvidia.com/gpu = 1 x H100-80GB (79.6 GiB each), and the weights of the model "
        "take ",
        alongside=(NO_SLICES,),
    ),
    Case(
        "model-exceeds-gpu-memory",
        deployment({LIMITS: {"nvidia.com/gpu": 8}, **_KIMI, "spec.replicas": 1}),
        deployment({LIMITS: WHOLE, **_KIMI, f"{CONTAINER}.args": [], "spec.replicas": 1}),
        "each) at most, and the weights of the model take 958.3 GiB (Kimi-K2-Instruct in fp8)",
        Level.ADVISORY,
        alongside=(),
    ),
)
