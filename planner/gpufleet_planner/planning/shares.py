"""What one workload can be given of a GPU: all of it, a MIG slice, an MPS client, a time slice."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from gpufleet.catalogue import Gpu
from gpufleet.catalogue.gpu import MigGeometry, MigProfile
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

_REPLICAS = (2, 3, 4, 6, 8, 12, 16)
"""Numbers of clients or time slices that are tried."""
ISOLATED = {
    Isolation.HARDWARE: (DeviceShare.WHOLE, DeviceShare.MIG),
    Isolation.MEMORY: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS),
    Isolation.NONE: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS, DeviceShare.TIME_SLICE),
}


@dataclass(frozen=True, slots=True)
class ShareOffer:
    """A device and the part of its GPU it costs."""

    device: Device
    kind: DeviceShare
    part: Fraction
    """Of a GPU's price: the larger of compute and memory part of a slice, 1 / replicas else."""
    profile: str | None = None
    replicas: int = 1
    compute_part: Fraction | None = None
    """MIG: compute slices of all; None: `part`."""
    memory_part: Fraction | None = None
    """MIG: memory slots of all; None: `part`."""

    def weighted(self, compute: Fraction) -> Fraction:
        """Part of a GPU with so much weight on compute and the rest on memory. With one weight for
        all, the parts on one GPU never add up to more than it: what lower bounds need."""
        if self.compute_part is None or self.memory_part is None:
            return self.part
        return compute * self.compute_part + (1 - compute) * self.memory_part

    @property
    def resource_key(self) -> str:
        """What tells the shares of one GPU apart: `whole`, `mig-1g.10gb`, `mps-4`."""
        if self.kind is DeviceShare.MIG:
            return f"mig-{self.profile}"
        return "whole" if self.kind is DeviceShare.WHOLE else f"{self.kind.value}-{self.replicas}"


def allowed_kinds(need: WorkloadNeed) -> tuple[DeviceShare, ...]:
    """Ways of sharing a workload may be given. Training shares hardware at most, and large training
    nothing: its peaks and speed would depend on strangers."""
    kinds = ISOLATED[need.isolation]
    if need.trains:
        kinds = tuple(kind for kind in kinds if kind in (DeviceShare.WHOLE, DeviceShare.MIG))
    return (DeviceShare.WHOLE,) if need.large_training else kinds


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
        usable_bytes=machine.device_bytes,
        compute_share=machine.fraction,
        bandwidth_share=machine.fraction,
    )


def shares(gpu: Gpu, kinds: tuple[DeviceShare, ...], least_bytes: int = 0) -> list[ShareOffer]:
    """The shares of a whole GPU that have at least so much usable memory, whole GPU first.

    Slices with media engines, graphics or other attributes are left out: a plan needs none.
    """
    found = _all_shares(gpu, kinds)
    return [s for s in found if s.kind is DeviceShare.WHOLE or s.device.usable_bytes >= least_bytes]


def slice_parts(geometry: MigGeometry, profile: MigProfile) -> tuple[Fraction, Fraction]:
    """The part of a GPU's compute slices and memory slots that an instance of a profile takes."""
    return (
        Fraction(profile.compute_slices, geometry.compute_slices),
        Fraction(profile.memory_slots, geometry.memory_slots),
    )


@lru_cache(maxsize=1024)
def _all_shares(gpu: Gpu, kinds: tuple[DeviceShare, ...]) -> tuple[ShareOffer, ...]:
    return tuple(_shares(gpu, kinds))


def _shares(gpu: Gpu, kinds: tuple[DeviceShare, ...]) -> Iterator[ShareOffer]:
    device = whole_gpu(gpu)
    if not isinstance(device, Device):
        return
    yield ShareOffer(device, DeviceShare.WHOLE, Fraction(1))
    if DeviceShare.MIG in kinds and gpu.mig is not None:
        for profile in gpu.mig.profiles.values():
            if profile.attributes or profile.memory_slots == gpu.mig.memory_slots:
                continue
            slice_, _ = mig_slice(gpu, profile.name)
            if slice_ is not None:
                compute, memory = slice_parts(gpu.mig, profile)
                part = max(compute, memory)
                yield ShareOffer(slice_, DeviceShare.MIG, part, profile.name, 1, compute, memory)
    for replicas in _REPLICAS:
        for kind, make in ((DeviceShare.MPS, mps_share), (DeviceShare.TIME_SLICE, time_slice)):
            if kind not in kinds:
                continue
            divided = make(device, replicas)
            if isinstance(divided, Device):
                yield ShareOffer(divided, kind, Fraction(1, replicas), None, replicas)
