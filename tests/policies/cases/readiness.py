"""Cases of rules/readiness.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, LIMITS, SHARED_MEMORY, deployment
from tests.policies.objects import REMOVE

TWO = {
    "spec.replicas": 1,
    LIMITS: {"nvidia.com/gpu": 2},
    f"{CONTAINER}.args": ["--tensor-parallel-size=2"],
}

PORT = {f"{CONTAINER}.ports": [{"containerPort": 8000}]}

CASES = (
    Case(
        "gpu-processes-without-shared-memory",
        deployment({**TWO, **SHARED_MEMORY}),
        deployment(TWO),
        "starts 2 processes that communicate by /dev/shm, without a volume there",
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
