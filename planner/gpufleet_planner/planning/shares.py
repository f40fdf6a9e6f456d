"""Parts of a GPU for one workload: the whole GPU, a MIG slice, an MPS client, a time slice."""

from dataclasses import replace
from functools import lru_cache

from gpufleet.catalogue import Gpu
from gpufleet.findings import Finding
from gpufleet.partition.grant import grant
from gpufleet_planner.planning.need import Isolation, WorkloadNeed
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.sizing.device import (
    Device,
    DeviceShare,
    mig_slice,
    mps_share,
    time_slice,
    whole_gpu,
)
from gpufleet_planner.sizing.request import SizedWorkload

_REPLICAS = (2, 3, 4, 6, 8, 12, 16)
"""Numbers of clients or time slices that are tried."""
ISOLATED = {
    Isolation.HARDWARE: (DeviceShare.WHOLE, DeviceShare.MIG),
    Isolation.MEMORY: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS),
    Isolation.NONE: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS, DeviceShare.TIME_SLICE),
}


def allowed_kinds(need: WorkloadNeed) -> tuple[DeviceShare, ...]:
    """Ways of sharing a workload may be given. Training shares hardware at most, and large training
    nothing: its peaks and speed would depend on strangers."""
    kinds = ISOLATED[need.isolation]
    if need.trains:
        kinds = tuple(kind for kind in kinds if kind in (DeviceShare.WHOLE, DeviceShare.MIG))
    # Jobs of several GPUs cannot either, by their group.
    return (DeviceShare.WHOLE,) if need.workload is SizedWorkload.PRE_TRAINING else kinds


@lru_cache(maxsize=4096)
def whole(machine: OfferedMachine) -> Device | None:
    """A whole device of a machine: a GPU, or the vGPU slice the machine carries."""
    device = whole_gpu(machine.gpu)
    if not isinstance(device, Device) or machine.device_bytes is None:
        return None
    if machine.fraction == 1:
        return device
    # One GPU's rates divided evenly: what the neighbours leave is not promised.
    return replace(
        device,
        label=f"{machine.gpu.key} x {machine.fraction}",
        grant=grant(machine.gpu, 1, device_bytes=machine.device_bytes),
        compute_share=machine.fraction,
        bandwidth_share=machine.fraction,
    )


def shares(gpu: Gpu, kinds: tuple[DeviceShare, ...], least_bytes: int = 0) -> list[Device]:
    """The shares of a whole GPU with at least this usable memory, whole GPU first.

    Slices with media engines, graphics or other attributes are omitted: a plan needs none.
    """
    whole = DeviceShare.WHOLE
    return [s for s in _shares(gpu, kinds) if s.kind is whole or s.usable_bytes >= least_bytes]


@lru_cache(maxsize=1024)
def _shares(gpu: Gpu, kinds: tuple[DeviceShare, ...]) -> tuple[Device, ...]:
    device = whole_gpu(gpu)
    if not isinstance(device, Device):
        return ()
    found: list[Device | Finding | None] = [device]
    if DeviceShare.MIG in kinds and gpu.mig is not None:
        found += [
            mig_slice(gpu, profile.name)[0]
            for profile in gpu.mig.profiles.values()
            if not profile.attributes and profile.memory_slots != gpu.mig.memory_slots
        ]
    for replicas in _REPLICAS:
        for kind, make in ((DeviceShare.MPS, mps_share), (DeviceShare.TIME_SLICE, time_slice)):
            found += [make(device, replicas)] if kind in kinds else []
    return tuple(one for one in found if isinstance(one, Device))
