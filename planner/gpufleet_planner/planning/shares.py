"""What one workload can be given of a GPU: all of it, a MIG slice, an MPS client, a time slice."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from gpufleet.catalogue import Gpu
from gpufleet.partition.grant import grant, slice_parts
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
    """A device that a workload can be given, and how it is made."""

    device: Device
    kind: DeviceShare

    @property
    def part(self) -> Fraction:
        """Of a GPU's price: the larger of compute and memory part of a slice, 1 / replicas else."""
        return self.device.grant.part

    @property
    def profile(self) -> str | None:
        """MIG profile; None: a whole GPU or shares of it."""
        return self.device.grant.profile

    @property
    def replicas(self) -> int:
        """Shares of each device; 1: not divided."""
        return self.device.grant.replicas

    @property
    def slice_parts(self) -> tuple[Fraction, Fraction] | None:
        """MIG: compute slices of all, memory slots of all; None: `part` of both."""
        geometry, profile = self.device.gpu.mig, self.profile
        return None if geometry is None or profile is None else slice_parts(geometry, profile)

    def weighted(self, compute: Fraction) -> Fraction:
        """Part of a GPU with so much weight on compute and the rest on memory. With one weight for
        all, the parts on one GPU never add up to more than it: what lower bounds need."""
        parts = self.slice_parts
        if parts is None:
            return self.part
        return compute * parts[0] + (1 - compute) * parts[1]

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
        grant=grant(machine.gpu, 1, device_bytes=machine.device_bytes),
        compute_share=machine.fraction,
        bandwidth_share=machine.fraction,
    )


def shares(gpu: Gpu, kinds: tuple[DeviceShare, ...], least_bytes: int = 0) -> list[ShareOffer]:
    """The shares of a whole GPU that have at least so much usable memory, whole GPU first.

    Slices with media engines, graphics or other attributes are left out: a plan needs none.
    """
    found = _all_shares(gpu, kinds)
    return [s for s in found if s.kind is DeviceShare.WHOLE or s.device.usable_bytes >= least_bytes]


@lru_cache(maxsize=1024)
def _all_shares(gpu: Gpu, kinds: tuple[DeviceShare, ...]) -> tuple[ShareOffer, ...]:
    return tuple(_shares(gpu, kinds))


def _shares(gpu: Gpu, kinds: tuple[DeviceShare, ...]) -> Iterator[ShareOffer]:
    device = whole_gpu(gpu)
    if not isinstance(device, Device):
        return
    yield ShareOffer(device, DeviceShare.WHOLE)
    if DeviceShare.MIG in kinds and gpu.mig is not None:
        for profile in gpu.mig.profiles.values():
            if profile.attributes or profile.memory_slots == gpu.mig.memory_slots:
                continue
            slice_, _ = mig_slice(gpu, profile.name)
            if slice_ is not None:
                yield ShareOffer(slice_, DeviceShare.MIG)
    for replicas in _REPLICAS:
        for kind, make in ((DeviceShare.MPS, mps_share), (DeviceShare.TIME_SLICE, time_slice)):
            if kind not in kinds:
                continue
            divided = make(device, replicas)
            if isinstance(divided, Device):
                yield ShareOffer(divided, kind)
