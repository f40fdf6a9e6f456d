"""The device plugin: which resources a node advertises, or why the plugin does not start.

MIG strategies with their failure modes (DP `internal/rm/device_map.go`), time-slicing and MPS with
the renaming and the limits of section 5 of NVIDIA's documentation of the plugin.
"""

from collections import Counter
from dataclasses import dataclass

from gpufleet_sandbox.operands.device_plugin_config import SharingInForce
from gpufleet_sandbox.operands.hardware import SimulatedHardware
from gpufleet_sandbox.operands.silicon import GpuState

GPU_RESOURCE = "nvidia.com/gpu"


class PluginError(Exception):
    """The plugin ends with an error, so the node advertises nothing."""


@dataclass(frozen=True, slots=True)
class AdvertisedResources:
    """Resources the kubelet learns of."""

    resources: dict[str, int]
    warnings: tuple[str, ...] = ()


def mig_resource(profile_suffix: str) -> str:
    """Resource name of a MIG profile under the mixed strategy."""
    return f"nvidia.com/mig-{profile_suffix}"


def advertise(
    hardware: SimulatedHardware,
    states: tuple[GpuState, ...],
    strategy: str,
    sharing: SharingInForce | None,
) -> AdvertisedResources:
    """Count the devices and apply sharing; raises PluginError."""
    warnings: list[str] = []
    devices = _devices(hardware, states, strategy, warnings)
    if sharing is None:
        return AdvertisedResources(dict(devices), tuple(warnings))
    if sharing.kind == "mps":
        _check_mps(hardware, states, sharing)
    resources: dict[str, int] = {}
    for name, count in devices.items():
        replicas = sharing.replicas(name)
        shared = replicas > 1 and sharing.rename
        resources[f"{name}.shared" if shared else name] = count * replicas
    for entry in sharing.resources:
        if entry.name not in devices:
            warnings.append(f"{entry.name} is shared in the config but the node has none")
    return AdvertisedResources(resources, tuple(warnings))


def _devices(
    hardware: SimulatedHardware, states: tuple[GpuState, ...], strategy: str, warnings: list[str]
) -> Counter[str]:
    if strategy == "none" or not any(state.mig_enabled for state in states):
        return Counter({GPU_RESOURCE: len(hardware.gpus)} if hardware.gpus else {})
    if strategy == "single":
        return _single(states)
    counts: Counter[str] = Counter()
    for gpu, state in zip(hardware.gpus, states, strict=True):
        if not state.mig_enabled:
            counts[GPU_RESOURCE] += 1
            continue
        if not state.devices:
            warnings.append(f"GPU {gpu.index} is in MIG mode and holds no MIG device")
        for device in state.devices:
            shape = gpu.board.shape(device.shape_name)
            if shape is None or not device.whole_instance:
                raise PluginError(f"{device.profile} does not match any resource patterns")
            counts[mig_resource(shape.resource_suffix)] += 1
    return counts


def _single(states: tuple[GpuState, ...]) -> Counter[str]:
    for index, state in enumerate(states):
        if state.mig_enabled and not state.devices:
            raise PluginError(f"device {index} has no MIG devices configured")
    if not all(state.mig_enabled for state in states):
        raise PluginError(
            "all devices on the node must be configured with the same migEnabled value"
        )
    profiles = {device.profile for state in states for device in state.devices}
    if len(profiles) > 1:
        raise PluginError(
            f"more than one MIG device type present on node: {', '.join(sorted(profiles))}"
        )
    return Counter({GPU_RESOURCE: sum(len(state.devices) for state in states)})


def _check_mps(
    hardware: SimulatedHardware, states: tuple[GpuState, ...], sharing: SharingInForce
) -> None:
    if any(state.mig_enabled for state in states):
        raise PluginError("sharing using MPS is not supported for MIG devices")
    replicas = sharing.replicas(GPU_RESOURCE)
    for gpu in hardware.gpus:
        if replicas > gpu.board.mps_client_limit:
            raise PluginError(
                f"maximum allowed replicas exceeded: {replicas} > {gpu.board.mps_client_limit} "
                f"on {gpu.board.product}"
            )
