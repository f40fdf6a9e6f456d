"""Cases of rules/server_arguments.py."""

from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, LIMITS, SHARED_MEMORY, deployment

QWEN = ["vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--tensor-parallel-size"]
"""28 query heads and 4 KV heads (its config.json)."""


def _served_on(gpus: int) -> dict[str, object]:
    return {
        "spec.replicas": 1,
        f"{CONTAINER}.command": [*QWEN, str(gpus)],
        LIMITS: {"nvidia.com/gpu": gpus},
        **SHARED_MEMORY,
    }


CASES = (
    Case(
        "server-arguments-refused",
        deployment(_served_on(2)),
        deployment(_served_on(3)),
        "3 GPUs cannot share 28 query and 4 KV heads of Qwen2.5-7B evenly",
        alongside=(),
    ),
)
