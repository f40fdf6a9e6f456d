"""Cases of rules/server_arguments.py."""

from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment

QWEN = ["vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--tensor-parallel-size"]
"""28 query heads and 4 KV heads (its config.json)."""

CASES = (
    Case(
        "server-arguments-refused",
        deployment({f"{CONTAINER}.command": [*QWEN, "2"], LIMITS: {"nvidia.com/gpu": 2}}),
        deployment({f"{CONTAINER}.command": [*QWEN, "3"], LIMITS: {"nvidia.com/gpu": 3}}),
        "3 GPUs cannot share 28 query and 4 KV heads of Qwen2.5-7B evenly",
        alongside=QUIET,
    ),
)
