"""mig-manager: from the selected config and the state of the GPUs to their next state.

Follows the order of NVIDIA's `reconfigure` and `mig-parted apply`: check whether it is applied
already; change the mode (which deletes devices on the GPUs, and on Ampere resets them); then create
the devices GPU by GPU. There is no check at the end: GPUs that no entry names keep their devices,
and the label still reports success. User pods are never evicted; a GPU in use cannot be changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpufleet_sandbox.operands.hardware import SimulatedHardware, SlotGpu
from gpufleet_sandbox.operands.mig_parted_config import Config, ParsedMigEntry
from gpufleet_sandbox.operands.silicon import GpuState, PlacementError, cut


class MigLabel(StrEnum):
    """Values of `nvidia.com/mig.config.state`."""

    PENDING = "pending"
    REBOOTING = "rebooting"
    SUCCESS = "success"
    FAILED = "failed"


States = tuple[GpuState, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """State of the GPUs, and the reason of a stop."""

    states: States
    error: str | None = None


def is_applied(hardware: SimulatedHardware, states: States, config: Config) -> bool:
    """Whether every GPU of the node is named by an entry and equals it exactly (MP-14)."""
    if not modes_match(hardware, states, config):
        return False
    matched = [False] * len(hardware.gpus)
    for entry, gpu in _walk(hardware, config):
        state = states[gpu.index]
        if not entry.mig_enabled:
            matched[gpu.index] = not state.mig_enabled
        else:
            matched[gpu.index] = dict(state.counts) == dict(entry.mig_devices)
    return all(matched)


def modes_match(hardware: SimulatedHardware, states: States, config: Config) -> bool:
    """Whether MIG mode of each GPU an entry names is the one it requests."""
    return all(
        entry.mig_enabled == states[gpu.index].mig_enabled
        for entry, gpu in _walk(hardware, config)
        if gpu.board.mig_capable or entry.mig_enabled
    )


def change_modes(
    hardware: SimulatedHardware, states: States, config: Config, users: Sequence[str]
) -> Applied:
    """Set the mode of every named GPU; `users` are the pods that hold GPUs of this node.

    When the mode changes on an Ampere part, all GPUs are reset. A reset that is refused leaves the
    change pending until the next boot.
    """
    if modes_match(hardware, states, config):
        return Applied(states)
    after = list(states)
    reset = False
    for entry, gpu in _walk(hardware, config):
        if not gpu.board.mig_capable:
            if entry.mig_enabled and entry.devices is not None:
                return Applied(tuple(after), _incapable("mode", gpu))
            continue
        state = after[gpu.index]
        changes = state.mig_enabled != entry.mig_enabled
        if users and (state.devices or (changes and not gpu.board.mode_change_needs_reset)):
            return Applied(tuple(after), _in_use(gpu, users))
        if changes and gpu.board.mode_change_needs_reset:
            reset = True
        after[gpu.index] = GpuState(entry.mig_enabled)
    if reset and users:
        return Applied(states, f"error resetting all GPUs: in use by {_names(users)}")
    if reset and not hardware.gpu_reset:
        return Applied(states, "error resetting all GPUs: not permitted on this machine")
    return Applied(tuple(after))


def after_reboot(hardware: SimulatedHardware, states: States, config: Config) -> States:
    """A boot makes pending mode changes take effect; MIG devices do not survive it."""
    modes = [state.mig_enabled for state in states]
    for entry, gpu in _walk(hardware, config):
        if gpu.board.mig_capable:
            modes[gpu.index] = entry.mig_enabled
    return tuple(GpuState(mode) for mode in modes)


def create_devices(
    hardware: SimulatedHardware, states: States, config: Config, users: Sequence[str]
) -> Applied:
    """Give every named GPU its devices, after the modes are right. Stops at the first failure.

    A GPU whose devices cannot be created is left empty; GPUs before it keep their new devices.
    """
    after = list(states)
    for entry, gpu in _walk(hardware, config):
        if not gpu.board.mig_capable:
            if entry.mig_enabled and entry.devices is not None:
                return Applied(tuple(after), _incapable("config", gpu))
            continue
        state = after[gpu.index]
        if entry.mig_enabled != state.mig_enabled:
            wanted = "enabled" if entry.mig_enabled else "disabled"
            return Applied(tuple(after), f"MIG mode of GPU {gpu.index} is not {wanted}")
        if not entry.mig_enabled or dict(state.counts) == dict(entry.mig_devices):
            continue
        if state.devices and users:
            return Applied(tuple(after), _in_use(gpu, users))
        try:
            after[gpu.index] = GpuState(True, cut(gpu.board, entry.mig_devices))
        except PlacementError as problem:
            after[gpu.index] = GpuState(True)
            return Applied(tuple(after), f"GPU {gpu.index}: {problem}")
    return Applied(tuple(after))


def apply(
    hardware: SimulatedHardware, states: States, config: Config, users: Sequence[str]
) -> Applied:
    """Mode change and devices in one go, as `nvidia-mig-parted apply`."""
    modes = change_modes(hardware, states, config, users)
    if modes.error is not None:
        return modes
    return create_devices(hardware, modes.states, config, users)


def _walk(hardware: SimulatedHardware, config: Config) -> list[tuple[ParsedMigEntry, SlotGpu]]:
    return [
        (entry, gpu)
        for entry in config
        for gpu in hardware.gpus
        if entry.concerns(gpu.index, gpu.board.pci_id)
    ]


def _incapable(what: str, gpu: SlotGpu) -> str:
    return f"cannot set MIG {what} on non MIG-capable GPU {gpu.index} ({gpu.board.product})"


def _in_use(gpu: SlotGpu, users: Sequence[str]) -> str:
    return f"GPU {gpu.index} is in use by another client: {_names(users)}"


def _names(users: Sequence[str]) -> str:
    shown = ", ".join(users[:3])
    return shown if len(users) <= 3 else f"{shown} and {len(users) - 3} more"
