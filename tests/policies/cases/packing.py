"""Cases of rules/packing.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.workloads import LIMITS, REQUESTS, deployment
from tests.policies.objects import DEPLOYMENT, changed


def trainer(gpus: int, cpu: str, memory: str = "100Gi", replicas: int = 2):
    """A server with whole GPUs of p5.48xlarge: 192 cores, 2 TiB and 8 GPUs."""
    return deployment(
        {
            "spec.replicas": replicas,
            "spec.strategy": {"type": "Recreate"},
            LIMITS: {"nvidia.com/gpu": gpus},
            REQUESTS: {"cpu": cpu, "memory": memory},
        }
    )


SMALLER = manifest(
    changed(
        DEPLOYMENT,
        {
            "metadata.name": "beside",
            LIMITS: {"nvidia.com/gpu": 2},
            "spec.replicas": 1,
        },
    )
)

CASES = (
    Case(
        "pod-strands-node-gpus",
        trainer(2, "40"),
        trainer(2, "80"),
        "2 of 4 pods fit; 4 GPUs of every node stay empty",
    ),
    Case(
        "gpu-count-does-not-divide-node",
        trainer(4, "40"),
        trainer(3, "40"),
        "each pod requests 3 of 8 GPUs of a p5.48xlarge of pool training",
        Level.ADVISORY,
    ),
)
