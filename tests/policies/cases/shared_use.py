"""Cases of rules/shared_use.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment

SHARE = {"nvidia.com/gpu.shared": 1}
MODE = 'metadata.annotations."gpufleet.dev/mode"'
GKE_MPS = {
    LIMITS: {"nvidia.com/gpu": 1},
    "spec.template.spec.nodeSelector": {
        "cloud.google.com/gke-accelerator": "nvidia-l4",
        "cloud.google.com/gke-gpu-sharing-strategy": "mps",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
    },
}


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
        "ranks of one program may run on one GPU and wait for each other",
    ),
    Case(
        "gke-mps-pod-without-host-ipc",
        deployment({**GKE_MPS, "spec.template.spec.hostIPC": True}),
        deployment(GKE_MPS),
        "selects nodes that share GPUs by MPS, and has no hostIPC",
        Level.MANDATORY,
        alongside=(),
    ),
    Case(
        "sharing-memory-oversubscribed",
        on_share(part="0.22"),
        on_share(part="0.5"),
        "takes 0.5 of a GPU's memory on nvidia.com/gpu.shared of pool small, which 4 pods share",
    ),
)
