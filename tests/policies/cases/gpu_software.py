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
