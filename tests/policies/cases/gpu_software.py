"""Cases of rules/gpu_software.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import CPU_GROUP, node_group
from tests.policies.cases.sharing import operator
from tests.policies.cases.workloads import CONTAINER, deployment

PARTS_OFF = {"driver": {"enabled": False}, "toolkit": {"enabled": False}}
FIRST = (
    Case(
        "gpu-software-installed-twice",
        node_group(),
        node_group({"amiType": "BOTTLEROCKET_x86_64_NVIDIA"}),
        "BOTTLEROCKET_x86_64_NVIDIA has the device plugin, and Release gpu-operator/gpu-operator "
        "installs it too",
        alongside=(CPU_GROUP, operator(PARTS_OFF)),
    ),
    Case(
        "pool-image-refused",
        node_group({"instanceTypes": ["g5g.xlarge"], "amiType": "AL2023_ARM_64_NVIDIA"}),
        node_group({"instanceTypes": ["g5g.xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}),
        "AL2023_x86_64_NVIDIA is for amd64, and g5g.xlarge is arm64",
    ),
    Case(
        "pool-image-without-driver",
        node_group({"instanceTypes": ["g5.xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}),
        node_group({"instanceTypes": ["g5.xlarge"], "amiType": "AL2023_x86_64_STANDARD"}),
        "AL2023_x86_64_STANDARD has no driver of NVIDIA",
        level=Level.ADVISORY,
    ),
)


CUDA = "docker.io/nvidia/cuda"
TRAIN = {f"{CONTAINER}.command": ["python", "train.py"]}

CASES = (
    *FIRST,
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
