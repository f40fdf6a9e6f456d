"""Cases of rules/gpu_software.py."""

from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pools import BUDGET, CPU_GROUP, node_group
from tests.policies.cases.sharing import operator

PARTS_OFF = {"driver": {"enabled": False}, "toolkit": {"enabled": False}}
PLUGIN = "kubernetes:helm.sh/v3:Release"


def plugin(values: dict[str, object]) -> Thing:
    """A release of the device plugin's own chart."""
    return Thing(PLUGIN, {"chart": "nvidia-device-plugin", "values": values}, "plugin")


def dra_driver(values: dict[str, object]) -> Thing:
    """A release of the DRA driver's chart."""
    return Thing(PLUGIN, {"chart": "dra-driver-nvidia-gpu", "values": values}, "dra")


CASES = (
    Case(
        "gpu-software-installed-twice",
        node_group(),
        node_group({"amiType": "BOTTLEROCKET_x86_64_NVIDIA"}),
        "BOTTLEROCKET_x86_64_NVIDIA has the device plugin, and Release gpu-operator/gpu-operator "
        "installs it too",
        alongside=(CPU_GROUP, BUDGET, operator(PARTS_OFF)),
    ),
    Case(
        "pool-image-architecture",
        node_group({"instanceTypes": ["g5g.xlarge"], "amiType": "AL2023_ARM_64_NVIDIA"}),
        node_group({"instanceTypes": ["g5g.xlarge"], "amiType": "AL2_x86_64_GPU"}),
        "AL2_x86_64_GPU is for amd64, and g5g.xlarge is arm64",
    ),
    Case(
        "pool-image-driver",
        node_group({"instanceTypes": ["g7e.2xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}),
        node_group({"instanceTypes": ["g7e.2xlarge"], "amiType": "AL2_x86_64_GPU"}),
        "driver 570 does not support RTX-PRO-6000-BLACKWELL-96GB",
    ),
    Case(
        "device-plugin-installed-twice",
        plugin({"nodeSelector": {"plugin": "own"}}),
        plugin({}),
        "Release gpu-operator/gpu-operator runs a device plugin too",
        alongside=(operator(PARTS_OFF),),
    ),
    Case(
        "gpus-served-twice",
        dra_driver({"resources": {"gpus": {"enabled": False}}}),
        dra_driver({"gpuResourcesEnabledOverride": True}),
        "Release gpu-operator/gpu-operator runs a device plugin for the same GPUs",
        alongside=(operator(PARTS_OFF),),
    ),
)
