"""Cases of rules/shared_use.py."""

from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment

SHARE = {"nvidia.com/gpu.shared": 1}
MODE = 'metadata.annotations."gpufleet.dev/mode"'


def on_share(mode: str = "inference", part: str = "0.22"):
    """A server on a quarter of an L4, which takes this part of its memory."""
    return deployment(
        {
            LIMITS: SHARE,
            MODE: mode,
            f"{CONTAINER}.args": [f"--gpu-memory-utilization={part}"],
        }
    )


CASES = (
    Case(
        "sharing-used-for-training",
        on_share("inference"),
        on_share("training"),
        "ranks of one program may land on one GPU and wait for each other",
    ),
    Case(
        "sharing-memory-oversubscribed",
        on_share(part="0.22"),
        on_share(part="0.5"),
        "takes 0.5 of a GPU's memory on nvidia.com/gpu.shared of pool small, where 4 pods meet",
    ),
)
