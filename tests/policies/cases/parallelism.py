"""Cases of rules/parallelism.py."""

from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, LIMITS, SHARED_MEMORY, deployment


def server(gpus: int, width: int):
    """A vLLM server with so many GPUs and this tensor parallel size."""
    return deployment(
        {
            "spec.replicas": 1,
            **SHARED_MEMORY,
            LIMITS: {"nvidia.com/gpu": gpus},
            f"{CONTAINER}.args": ["--model", "acme/chat", f"--tensor-parallel-size={width}"],
        }
    )


CASES = (
    Case(
        "gpu-count-exceeds-parallelism",
        server(4, 4),
        server(4, 2),
        "asks for 4 x nvidia.com/gpu and starts processes on 2; 2 of them stay idle",
    ),
    Case(
        "gpu-count-below-parallelism",
        server(4, 4),
        server(4, 8),
        "starts processes on 8 GPUs and asks for 4 x nvidia.com/gpu",
    ),
)
