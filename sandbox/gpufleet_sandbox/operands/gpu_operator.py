"""The GPU Operator's own part: finding GPU nodes and switching operands on them by label.

Node Feature Discovery marks nodes with NVIDIA devices; without it the operator sees no GPU node.
"""

from collections.abc import Mapping

from gpufleet_sandbox.operands.cluster_policy import ClusterPolicy
from gpufleet_sandbox.operands.hardware import SimulatedHardware

PCI_LABELS = tuple(
    f"feature.node.kubernetes.io/pci-{name}.present" for name in ("10de", "0302_10de", "0300_10de")
)
NIC_LABEL = "feature.node.kubernetes.io/pci-15b3.present"
MIG_CONFIG = "nvidia.com/mig.config"
MIG_STATE = "nvidia.com/mig.config.state"
PLUGIN_CONFIG = "nvidia.com/device-plugin.config"
WORKLOAD_CONFIG = "nvidia.com/gpu.workload.config"
DEPLOY = "nvidia.com/gpu.deploy."
PAUSED = "paused-for-mig-change"
PAUSED_OPERANDS = ("device-plugin", "gpu-feature-discovery", "dcgm-exporter", "dcgm", "nvsm")
_CONTAINER_OPERANDS = (
    "driver",
    "gpu-feature-discovery",
    "container-toolkit",
    "device-plugin",
    "dcgm",
    "dcgm-exporter",
    "node-status-exporter",
    "operator-validator",
)
_WORKLOADS = ("container", "vm-passthrough", "vm-vgpu")


def feature_discovery_labels(hardware: SimulatedHardware) -> dict[str, str]:
    """Labels of NFD on this node for NVIDIA's PCI devices, GPUs and network cards."""
    found = {PCI_LABELS[0]: "true"} if hardware.gpus else {}
    return found | ({NIC_LABEL: "true"} if hardware.nics else {})


def is_gpu_node(labels: Mapping[str, str]) -> bool:
    """Whether the operator takes the node for one with NVIDIA GPUs."""
    return any(labels.get(name) == "true" for name in PCI_LABELS)


def workload(labels: Mapping[str, str], policy: ClusterPolicy) -> str:
    """Kind of workload the node is for; anything unknown falls back to the default."""
    if not policy.sandbox_workloads:
        return "container"
    asked = labels.get(WORKLOAD_CONFIG, "")
    return asked if asked in _WORKLOADS else policy.default_workload


def operator_labels(
    hardware: SimulatedHardware, labels: Mapping[str, str], policy: ClusterPolicy
) -> dict[str, str | None]:
    """Labels of the operator; None removes one. A part that the user disabled stays disabled."""
    wanted: dict[str, str | None] = {"nvidia.com/gpu.present": "true"}
    if labels.get(f"{DEPLOY}operands") == "false" or workload(labels, policy) != "container":
        wanted |= {f"{DEPLOY}{name}": None for name in (*_CONTAINER_OPERANDS, "mig-manager")}
        return wanted
    for name in _CONTAINER_OPERANDS:
        if f"{DEPLOY}{name}" not in labels:
            wanted[f"{DEPLOY}{name}"] = "true"
    if hardware.driver is not None and labels.get(f"{DEPLOY}driver") != "false":
        wanted[f"{DEPLOY}driver"] = "pre-installed"
    if hardware.mig_capable:
        wanted.setdefault(f"{DEPLOY}mig-manager", labels.get(f"{DEPLOY}mig-manager", "true"))
        if not labels.get(MIG_CONFIG) and policy.mig_default == "all-disabled":
            wanted[MIG_CONFIG] = "all-disabled"
    return wanted


def driver_problem(hardware: SimulatedHardware, policy: ClusterPolicy) -> str | None:
    """Why no operand can talk to the GPUs, or None when driver and toolkit are there."""
    if hardware.driver is None and not policy.driver_enabled:
        return "no NVIDIA driver: the image has none and driver.enabled is false"
    if not hardware.toolkit and not policy.toolkit_enabled:
        return "no container toolkit: the image has none and toolkit.enabled is false"
    return None


def driver_version(hardware: SimulatedHardware, policy: ClusterPolicy) -> str:
    """Driver version in use: the image's wins over the operator's."""
    return hardware.driver or policy.driver_version
