"""vGPU types: what a name promises, how many fit on one GPU, what the machine then sees.

Grammar of names as vCenter lists them: `[grid_|nvidia_]<board>[-<slices>]-<GB><series>[me]`. A
number of slices makes the type MIG-backed. The catalogue's table is for planning; which types a
host offers, only the host says.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from gpufleet.catalogue.gpu import Gpu, VgpuBoard
from gpufleet.findings import Finding, error, has_errors, info, warning
from gpufleet.partition.rules import small_shares
from gpufleet.spec.sharing import Vgpu, VgpuScheduler

_GRAMMAR = re.compile(
    r"(?:(?P<prefix>grid|nvidia)_)?(?P<board>[a-z0-9]+(?:-ada)?)"
    r"(?:-(?P<slices>[1-9]))?-(?P<gb>[1-9][0-9]{0,2})(?P<series>[abcq])(?P<media>me)?"
)
_GIB = 1 << 30
SERIES = {
    "c": "compute (NVIDIA AI Enterprise)",
    "q": "workstations",
    "b": "desktops",
    "a": "published applications",
}


@dataclass(frozen=True, slots=True)
class VgpuType:
    """A type name, taken apart."""

    board: str
    """`a100d`: lower case."""
    slices: int | None
    """MIG slices of a MIG-backed type; None: time-sliced."""
    gigabytes: int
    """Frame buffer."""
    series: str
    """`c`, `q`, `b` or `a`."""
    media: bool = False
    """MIG-backed with the media extension."""
    prefix: str = field(default="grid_", compare=False)
    """What the name began with: hosts of newer releases list `nvidia_`."""

    @property
    def name(self) -> str:
        """NVIDIA's own spelling: `A100D-3-40C`, `A100D-1-10CME`."""
        slices = "" if self.slices is None else f"-{self.slices}"
        tail = "ME" if self.media else ""
        return f"{self.board}{slices}-{self.gigabytes}{self.series}".upper() + tail

    @property
    def mig_profile(self) -> str | None:
        """The MIG profile behind it: `3g.40gb`; None when it is time-sliced."""
        if self.slices is None:
            return None
        return f"{self.slices}g.{self.gigabytes}gb" + ("+me" if self.media else "")


@dataclass(frozen=True, slots=True)
class VgpuCut:
    """What the hypervisor hands each machine of a pool."""

    type: VgpuType
    per_gpu: int | None
    """Maximum number of vGPUs of this type on one GPU, all of one size; None where no table
    says."""
    fraction: Fraction
    """Share of a physical GPU that one vGPU is: one of `per_gpu`, else its part of the memory."""
    memory_bytes: int
    """Frame buffer of one vGPU in bytes."""
    license_secret: str | None
    scheduler: VgpuScheduler | None = None
    time_slice_ms: int | None = None

    @property
    def promised_time(self) -> Fraction | None:
        """Least part of the GPU's time that a vGPU gets; None: none is promised, or it is not
        known. An equal share is smallest when the GPU is full."""
        shared = (VgpuScheduler.EQUAL_SHARE, VgpuScheduler.FIXED_SHARE)
        if self.scheduler not in shared or self.per_gpu is None:
            return None
        return Fraction(1, self.per_gpu)

    @property
    def mig_backed(self) -> bool:
        """Whether a MIG slice backs it; else vGPUs take turns on the GPU."""
        return self.type.slices is not None


def scheduler_value(scheduler: VgpuScheduler, time_slice_ms: int | None) -> str:
    """Value of the registry key RmPVMRL of a host: `0x11`, with a length of turns `0x00050011`.

    Source: NVIDIA Virtual GPU Software User Guide, RmPVMRL Registry Key.
    """
    number = _SCHEDULERS[scheduler]
    return f"0x{number:02X}" if time_slice_ms is None else f"0x00{time_slice_ms:02X}{number:04X}"


_SCHEDULERS = {
    VgpuScheduler.BEST_EFFORT: 0x00,
    VgpuScheduler.EQUAL_SHARE: 0x01,
    VgpuScheduler.FIXED_SHARE: 0x11,
}


def parse_type(name: str) -> VgpuType | None:
    """A vGPU type name in any case, with or without its prefix; None when it is none."""
    match = _GRAMMAR.fullmatch(name.lower())
    if match is None or (match["media"] and match["slices"] is None):
        return None
    return VgpuType(
        board=match["board"],
        slices=int(match["slices"]) if match["slices"] else None,
        gigabytes=int(match["gb"]),
        series=match["series"],
        media=match["media"] is not None,
        prefix="nvidia_" if name.lower().startswith("nvidia_") else "grid_",
    )


def cut(gpu: Gpu, count: int, declared: Vgpu, place: str) -> tuple[VgpuCut | None, list[Finding]]:
    """What machines with `count` vGPUs of this type each see; None when a finding is an error."""
    where = f"{place}.profile"
    found = parse_type(declared.profile)
    if found is None:
        return None, [
            error(
                "vgpu-profile-malformed",
                where,
                f"{declared.profile!r} is not a vGPU type: `grid_<board>-<GB>c`, or MIG-backed "
                "`grid_<board>-<slices>-<GB>c`, is wanted",
                _examples(gpu),
                value=declared.profile,
            )
        ]
    findings = [*_check_series(found, where), *_check_board(gpu, found, where)]
    per_gpu = None if has_errors(findings) or gpu.vgpu is None else _per_gpu(gpu.vgpu, found)
    if not has_errors(findings):
        findings += _check_size(gpu, found, per_gpu, where)
    if has_errors(findings):
        return None, findings
    findings += _check_count(gpu, found, count, place)
    findings += _check_scheduler(found, declared, place)
    findings += _check_turns(found, declared, place)
    if has_errors(findings):
        return None, findings
    memory = found.gigabytes * _GIB
    if per_gpu is not None:
        fraction = Fraction(1, per_gpu)
    else:
        fraction = Fraction(found.gigabytes, gpu.nominal_gb or found.gigabytes)
    made = VgpuCut(
        found,
        per_gpu,
        fraction,
        memory,
        declared.license_secret,
        declared.scheduler,
        declared.time_slice_ms,
    )
    return made, findings


def most_per_gpu(gpus: Iterable[Gpu], name: str) -> int | None:
    """Maximum number of vGPUs of the type on one GPU, all of one size, or None when no table
    says."""
    found = parse_type(name)
    boards = [gpu.vgpu for gpu in gpus if gpu.vgpu is not None]
    for board in boards:
        if found is not None and found.board in board.names:
            return _per_gpu(board, found)
    return None


def _per_gpu(board: VgpuBoard, found: VgpuType) -> int | None:
    if found.mig_profile is not None:
        return board.mig_backed.get(found.mig_profile)
    return board.time_sliced.get(found.gigabytes)


def _types(board: VgpuBoard, prefix: str) -> list[str]:
    """Every type of a GPU as vCenter would list it."""
    first = board.names[0]
    sliced = [f"{prefix}{first}-{gb}c" for gb in board.time_sliced]
    backed: list[str] = []
    for profile in board.mig_backed:
        slices, _, size = profile.partition("g.")
        gigabytes, _, media = size.partition("gb")
        backed.append(f"{prefix}{first}-{slices}-{gigabytes}c{media.removeprefix('+')}")
    return sliced + backed


def _examples(gpu: Gpu, near: str | None = None, prefix: str = "grid_") -> str | None:
    if gpu.vgpu is None:
        return None
    known = _types(gpu.vgpu, prefix)
    close = difflib.get_close_matches(near.lower(), known, n=3, cutoff=0) if near else known[:3]
    return f"write one of {', '.join(close)}, as the host offers it"


def _check_series(found: VgpuType, where: str) -> Iterable[Finding]:
    if found.series == "c":
        return
    plain = VgpuType(found.board, found.slices, found.gigabytes, "c", found.media).name.lower()
    text = f"series {found.series} is for {SERIES[found.series]}"
    if found.series == "q":
        yield warning(
            "vgpu-series-not-compute",
            where,
            f"{text}; its capacities are not in the table and are taken from the compute series",
            f"write `{found.prefix}{plain}` for containers",
            value=found.series,
        )
        return
    yield error(
        "vgpu-series-not-compute",
        where,
        f"{text}: CUDA containers need the compute series",
        f"write `{found.prefix}{plain}`",
        value=found.series,
    )


def _check_board(gpu: Gpu, found: VgpuType, where: str) -> Iterable[Finding]:
    if gpu.vgpu is None:
        yield warning(
            "vgpu-board-not-in-table",
            where,
            f"no vGPU types of {gpu.key} were found published: neither the name nor how many fit "
            "on a GPU is checked",
            "compare with what the hosts offer before ordering machines",
            gpu=gpu.key,
        )
    elif found.board not in gpu.vgpu.names:
        yield error(
            "vgpu-other-gpu",
            where,
            f"{found.name} is a type of another board: those of {gpu.key} begin with "
            f"{' or '.join(gpu.vgpu.names)}",
            _examples(gpu, f"{found.prefix}{gpu.vgpu.names[0]}-{found.gigabytes}c", found.prefix),
            value=found.board,
            allowed=gpu.vgpu.names,
        )


def _check_size(gpu: Gpu, found: VgpuType, per_gpu: int | None, where: str) -> Iterable[Finding]:
    if gpu.nominal_gb is not None and found.gigabytes > gpu.nominal_gb:
        yield error(
            "vgpu-larger-than-gpu",
            where,
            f"a frame buffer of {found.gigabytes} GB on a GPU of {gpu.nominal_gb} GB",
            _examples(gpu, found.prefix + found.name, found.prefix),
            value=found.gigabytes,
            limit=gpu.nominal_gb,
        )
        return
    if found.mig_profile is not None and not gpu.has_mig:
        yield error(
            "vgpu-mig-unsupported",
            where,
            f"{found.name} is MIG-backed, and {gpu.key} has no MIG",
            f"write `{found.prefix}{found.board}-{found.gigabytes}c`",
            gpu=gpu.key,
        )
        return
    profiles = tuple(gpu.mig.profiles) if gpu.mig is not None else ()
    if found.mig_profile is not None and profiles and found.mig_profile not in profiles:
        yield error(
            "vgpu-mig-profile-unknown",
            where,
            f"{found.name} would be backed by {found.mig_profile}, which {gpu.key} does not have "
            f"(it has {', '.join(profiles)})",
            _examples(gpu, found.prefix + found.name, found.prefix),
            value=found.mig_profile,
        )
        return
    if per_gpu is None and gpu.vgpu is not None:
        yield warning(
            "vgpu-size-not-in-table",
            where,
            f"{found.name} is in no published table of {gpu.key}: how many fit on a GPU is not "
            "checked",
            _examples(gpu, found.prefix + found.name, found.prefix),
            value=found.name,
        )


def _check_scheduler(found: VgpuType, declared: Vgpu, place: str) -> Iterable[Finding]:
    """Source: NVIDIA AI Enterprise 8.1, vGPU for Compute, Scheduling Policies."""
    scheduler = declared.scheduler
    if scheduler is not None and found.slices is not None:
        yield error(
            "vgpu-scheduler-of-mig",
            f"{place}.scheduler",
            f"{found.name} is MIG-backed: it has hardware of its own, and no scheduler divides it",
            "remove `scheduler`, or write a time-sliced type",
            value=scheduler.value,
            limit="time-sliced",
        )
    if declared.time_slice_ms is not None and scheduler in (None, VgpuScheduler.BEST_EFFORT):
        yield error(
            "vgpu-time-slice-without-shares",
            f"{place}.timeSliceMs",
            "only the equal and the fixed share scheduler take a length of turns",
            "write `scheduler: equalShare` or fixedShare, or remove `timeSliceMs`",
            value=declared.time_slice_ms,
            limit=("equalShare", "fixedShare"),
        )


def _check_turns(found: VgpuType, declared: Vgpu, place: str) -> Iterable[Finding]:
    """Time-slicing works in machines with vGPUs (NVIDIA/cloud-native-docs 04d43c1
    `gpu-operator/gpu-sharing.rst`), which says nothing of MIG-backed ones."""
    slicing = declared.time_slicing
    if slicing is None:
        return
    if found.slices is not None:
        yield warning(
            "vgpu-time-slicing-not-known",
            f"{place}.timeSlicing",
            "NVIDIA names machines with vGPUs as a place for time-slicing, and no source says that "
            f"a MIG-backed one such as {found.name} is advertised as nvidia.com/gpu there",
            "try it on one machine, or write a time-sliced type",
            value=found.name,
        )
    yield from small_shares(
        found.name, slicing.replicas, found.gigabytes * _GIB, f"{place}.timeSlicing"
    )


def _check_count(gpu: Gpu, found: VgpuType, count: int, place: str) -> Iterable[Finding]:
    if count == 1:
        return
    if found.media:
        yield warning(
            "vgpu-media-extension-twice",
            f"{place}.profile",
            f"{count} x {found.name} in one machine take {count} GPUs of one host: each GPU has "
            "one media extension to give",
            "write `gpusPerNode: 1`, or the type without `me`",
            value=count,
            limit=1,
        )
    elif found.gigabytes != gpu.nominal_gb:
        yield info(
            "vgpu-several-in-one-machine",
            f"{place}.profile",
            f"{count} x {found.name} in one machine needs vSphere 8.0; before, only types with the "
            "whole frame buffer could be combined",
            value=count,
        )
