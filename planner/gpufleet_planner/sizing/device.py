"""The device of a workload: a whole GPU, a MIG slice, an MPS share or a time slice.

Memory is usable memory: what CUDA gives a process on a GPU (`data/cuda_memory.csv`; else what the
driver reports), what `nvidia-smi` reports for a slice.
Speed is a share of the board's rates: a slice has its own multiprocessors and memory channels, MPS
and time-slicing share them.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from gpufleet.catalogue import Catalogue, Gpu, MigProfile, Rates, UnknownKeyError
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, error, findings_in
from gpufleet.models.ledger import GIB, Basis
from gpufleet.partition.grant import Division, Grant, grant, slice_parts
from gpufleet_planner.tables import row_of

_finding = findings_in(__file__)


class DeviceShare(StrEnum):
    """Isolation of the workload's part of a GPU."""

    WHOLE = "whole"
    MIG = "mig"
    MPS = "mps"
    TIME_SLICE = "time-slice"


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU or part of one, as a workload sees it."""

    gpu: Gpu
    grant: Grant
    """The workload's part of it."""
    kind: DeviceShare
    label: str
    """For people: `L4`, `A100-80GB 1g.10gb`, `L4 / 4 (mps)`."""
    memory_basis: Basis
    rates: Rates | None
    """Rate of the whole board; None: not sourced, so no speed can be given."""
    compute_share: Fraction
    """Part of the board's arithmetic, all sharers busy."""
    bandwidth_share: Fraction
    """Part of the board's memory bandwidth, all sharers busy."""
    board: str = ""
    """Which board's rates: `sxm`, `pcie`, ..."""
    cuda_bytes: int | None = None
    """What CUDA gives one process on the whole GPU; None: no measurement is known."""

    def __hash__(self) -> int:
        return hash((self.label, self.board))

    @property
    def usable_bytes(self) -> int:
        """Compare `Ledger.planning_bytes` with this. The context of the workload's own process is
        in the ledger, not taken off here."""
        if self.cuda_bytes is not None and self.kind is DeviceShare.WHOLE:
            return self.cuda_bytes
        assert self.grant.memory_bytes is not None, f"the memory of {self.label} is not sourced"
        return self.grant.memory_bytes

    @property
    def part(self) -> Fraction:
        """Part of a GPU's price: of a slice the larger of compute and memory, else 1 / replicas."""
        return self.grant.part

    @property
    def profile(self) -> str | None:
        """MIG profile; None: a whole GPU or shares of it."""
        return self.grant.profile

    @property
    def replicas(self) -> int:
        """Shares of each device; 1: not divided."""
        return self.grant.replicas

    @property
    def slice_parts(self) -> tuple[Fraction, Fraction]:
        """MIG: compute slices of all, memory slots of all; else `part` of both."""
        geometry, profile = self.gpu.mig, self.profile
        if geometry is None or profile is None:
            return self.part, self.part
        return slice_parts(geometry, profile)

    @property
    def resource_key(self) -> str:
        """Identifier of a kind of share of a GPU: `whole`, `mig-1g.10gb`, `mps-4`."""
        if self.kind is DeviceShare.MIG:
            return f"mig-{self.profile}"
        whole = self.kind is DeviceShare.WHOLE
        return "whole" if whole else f"{self.kind.value}-{self.replicas}"


_SLICE_MEMORY = Fraction(91, 100)
"""Slices of known boards have at least this part of their even share of memory."""
_SLICE_COMPUTE = Fraction(85, 100)
"""The same for multiprocessors: 7 x 16 of 132 on Hopper."""
TIME_SLICE_COST = Fraction(111, 100)
"""n time-sliced pods take n * 1.11 times as long as one alone (YOLOS-small on A100-80)."""
_ADDRESS_SPACES = (7, 0)
"""Compute capability from which each MPS client has its own memory and limits."""
_MPS_GAIN = Fraction(193, 100)
"""Seven MPS clients do 1.93 times the work of one that does not fill the GPU (same test)."""


def find_gpu(text: str, catalogue: Catalogue, path: str = "gpu") -> Gpu | Finding:
    """The named GPU, or the error with the nearest keys."""
    try:
        return catalogue.find_gpu(text)
    except UnknownKeyError as problem:
        near = ", ".join(problem.nearest)
        return error(
            "gpu-unknown",
            path,
            str(problem),
            f"one of {near}" if near else "`gpufleet catalogue gpus` lists them",
            value=text,
            nearest=list(problem.nearest),
        )


def whole_gpu(gpu: Gpu, board: str | None = None) -> Device | Finding:
    """A GPU without sharing. `board` None (default): the one cloud instances carry."""
    if gpu.vendor != "nvidia" and not gpu.rates:
        return _finding("gpu-vendor-unsupported", value=gpu.key, vendor=gpu.vendor)
    usable = row_of("cuda_memory", gpu=gpu.key)["gib"]
    if usable == "host":
        return _finding("gpu-memory-of-host", value=gpu.key)
    if gpu.memory_bytes is None:
        return _finding("gpu-memory-unknown", value=gpu.key)
    name = board or next(iter(gpu.rates), "")
    if board is not None and board not in gpu.rates:
        return _finding(
            "gpu-board-unknown",
            value=board,
            gpu=gpu.key,
            boards=", ".join(gpu.rates) or "none: leave it out",
        )
    return Device(
        gpu=gpu,
        grant=grant(gpu, 1),
        cuda_bytes=round(float(usable) * GIB) if usable else None,
        kind=DeviceShare.WHOLE,
        label=gpu.key,
        # The overheads of engines were measured on NVIDIA's drivers.
        memory_basis=Basis.MEASURED if gpu.vendor == "nvidia" else Basis.ASSUMED,
        rates=gpu.rates.get(name),
        compute_share=Fraction(1),
        bandwidth_share=Fraction(1),
        board=name,
    )


def mig_slice(
    gpu: Gpu, profile: str, board: str | None = None
) -> tuple[Device | None, tuple[Finding, ...]]:
    """One MIG instance of a GPU, with a note where its memory had to be derived."""
    if gpu.mig is None:
        reason = gpu.mig_unknown or "the hardware cannot be partitioned"
        return None, (_finding("mig-unsupported", value=profile, gpu=gpu.key, reason=reason),)
    found = gpu.mig.profiles.get(profile)
    if found is None:
        found = gpu.mig.profiles.get(gpu.mig.alternate_names.get(profile, ""))
    if found is None:
        close = nearest_names(profile, gpu.mig.profiles) or tuple(gpu.mig.profiles)
        return None, (
            _finding(
                "mig-profile-unknown",
                value=profile,
                gpu=gpu.key,
                profiles=", ".join(gpu.mig.profiles),
                close=", ".join(close),
            ),
        )
    base = whole_gpu(gpu, board)
    if isinstance(base, Finding):
        return None, (base,)
    findings: list[Finding] = []
    own, basis = grant(gpu, 1, profile=found.name), Basis.MEASURED
    if own.memory_bytes is None:
        even = Fraction((gpu.memory_bytes or 0) * found.memory_slots, gpu.mig.memory_slots)
        memory, basis = int(even * _SLICE_MEMORY), Basis.ASSUMED
        own = grant(gpu, 1, profile=found.name, device_bytes=memory)
        findings.append(
            _finding("mig-memory-assumed", found=found.name, gpu=gpu.key, memory=memory)
        )
    return (
        replace(
            base,
            kind=DeviceShare.MIG,
            label=f"{gpu.key} {found.name}",
            grant=own,
            memory_basis=basis,
            compute_share=_slice_compute(gpu, found),
            bandwidth_share=Fraction(found.memory_slots, gpu.mig.memory_slots),
        ),
        tuple(findings),
    )


def _slice_compute(gpu: Gpu, profile: MigProfile) -> Fraction:
    full = int(row_of("multiprocessors", gpu=gpu.key)["multiprocessors"])
    if full and profile.multiprocessors is not None:
        return Fraction(profile.multiprocessors, full)
    assert gpu.mig is not None
    return Fraction(profile.compute_slices, gpu.mig.compute_slices) * _SLICE_COMPUTE


def mps_share(device: Device, replicas: int) -> Device | Finding:
    """One of several MPS clients of a whole GPU: floor(total / replicas) MiB, enforced."""
    if device.kind is not DeviceShare.WHOLE:
        return _finding("mps-on-slice", device=device.label)
    capability = device.gpu.compute_capability
    if capability is not None and capability < _ADDRESS_SPACES:
        return _finding("mps-not-isolated", value=replicas, gpu=device.gpu.key)
    most = device.gpu.mps_max_clients
    if not 2 <= replicas <= most:
        return _finding(
            "mps-replicas-out-of-range",
            fix=f"write at most {most}" if most else "use timeSlicing",
            value=replicas,
            limit=most,
            gpu=device.gpu.key,
        )
    # Measured gain of seven over one, taken as linear in between and constant beyond.
    gain = 1 + (_MPS_GAIN - 1) * Fraction(min(replicas, 7) - 1, 6)
    share = min(gain / replicas, Fraction(1))
    return replace(
        device,
        kind=DeviceShare.MPS,
        label=f"{device.gpu.key} / {replicas} (mps)",
        grant=_divided(device, Division(replicas, is_mps=True)),
        compute_share=share,
        bandwidth_share=share,
    )


def time_slice(device: Device, replicas: int) -> Device | Finding:
    """One of several processes that take turns: nothing limits memory, so each is planned with an
    equal part; every process brings its own context."""
    if replicas < 2:
        return _finding("time-slices-out-of-range", value=replicas)
    part = Fraction(1, replicas) / TIME_SLICE_COST
    return replace(
        device,
        kind=DeviceShare.TIME_SLICE if device.kind is not DeviceShare.MIG else DeviceShare.MIG,
        label=f"{device.label} / {replicas} (time-slice)",
        grant=_divided(device, Division(replicas)),
        compute_share=device.compute_share * part,
        bandwidth_share=device.bandwidth_share * part,
    )


def _divided(device: Device, division: Division) -> Grant:
    profile, memory = device.grant.profile, device.grant.memory_bytes
    return grant(device.gpu, 1, profile=profile, device_bytes=memory, division=division)


_REPLICAS = (2, 3, 4, 6, 8, 12, 16)
"""Numbers of clients or time slices that are tried."""


def shares(gpu: Gpu, kinds: tuple[DeviceShare, ...], least_bytes: int = 0) -> list[Device]:
    """The shares of a whole GPU with at least this usable memory, whole GPU first.

    Slices with media engines, graphics or other attributes are omitted: a plan needs none.
    """
    whole, memory = DeviceShare.WHOLE, gpu.memory_bytes or 0
    # A client or time slice has at most an equal part: of smaller ones none is made.
    most = max((n for n in _REPLICAS if n * least_bytes <= memory), default=0)
    found = _shares(gpu, kinds, most)
    return [s for s in found if s.kind is whole or s.usable_bytes >= least_bytes]


@lru_cache(maxsize=1024)
def _shares(gpu: Gpu, kinds: tuple[DeviceShare, ...], most: int) -> tuple[Device, ...]:
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
    for replicas in (n for n in _REPLICAS if n <= most):
        for kind, make in ((DeviceShare.MPS, mps_share), (DeviceShare.TIME_SLICE, time_slice)):
            found += [make(device, replicas)] if kind in kinds else []
    return tuple(one for one in found if isinstance(one, Device))
