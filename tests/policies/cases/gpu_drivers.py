"""Cases of rules/gpu_drivers.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, deployment

CUDA = "docker.io/nvidia/cuda"
TRAIN = {f"{CONTAINER}.command": ["python", "train.py"]}

CASES = (
    Case(
        "cuda-not-for-gpu",
        deployment(
            {**TRAIN, f"{CONTAINER}.image": "nvcr.io/nvidia/cuda:12.8.1-runtime-ubuntu24.04"}
        ),
        deployment({**TRAIN, f"{CONTAINER}.image": "nvcr.io/nvidia/cuda:10.2-runtime-ubuntu18.04"}),
        "CUDA 10.2 has no code for L4",
        Level.ADVISORY,
    ),
)
