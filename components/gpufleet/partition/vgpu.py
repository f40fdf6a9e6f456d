"""vGPU types: meaning of a name, number on one GPU, devices that the machine sees.

A name is `<board>[-<slices>]-<GB><series>[<attribute>]`; a number of slices makes the type
MIG-backed (NVIDIA/vgpu-device-manager `pkg/types/vgpu_type.go`). The types of a board are in its
row of the catalogue; those of a host are known only to the host.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from gpufleet.catalogue.gpu import Gpu, VgpuBoard
from gpufleet.catalogue.lookup import squeezed
from gpufleet.findings import Finding, error, findings_in, has_errors, warning
from gpufleet.findings.row_rules import rules_in
from gpufleet.partition.rules import small_shares
from gpufleet.spec.sharing import Vgpu, VgpuScheduler

_finding, _rules = findings_in(__file__), rules_in(__file__)

_NAME = re.compile(
    r"(?:nvidia\.com/)?(?:(?P<prefix>grid|nvidia)[ _-])?"
    r"(?P<board>[a-z0-9](?:[a-z0-9 _-]*?[a-z0-9])?)"
    r"(?:-(?P<slices>[1-9]))?-(?P<gb>[1-9][0-9]{0,2})(?P<series>[abcq])"
    r"(?P<attribute>me|nome|meall|gfx)?"
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
    """Without separators, in lower case: `a100d`, `rtxpro6000blackwelldc`."""
    slices: int | None
    """MIG slices of a MIG-backed type; None: time-sliced."""
    gigabytes: int
    """Frame buffer."""
    series: str
    """`c`, `q`, `b` or `a`."""
    attribute: str = ""
    """Attribute of the MIG slice behind it: `me`, `nome`, `meall` or `gfx`; empty: none."""
    prefix: str = field(default="grid_", compare=False)
    """Prefix of the name: hosts of newer releases list `nvidia_`."""
    printed: str = field(default="", compare=False)
    """Prefix that nvidia-smi prints before the board, from the table."""
    spelling: str = field(default="", compare=False)
    """The board in the table's spelling; empty: in no table."""

    @property
    def tail(self) -> str:
        """Part of the name after the board: `20C`, `1-10CME`."""
        slices = "" if self.slices is None else f"{self.slices}-"
        return f"{slices}{self.gigabytes}{self.series}{self.attribute}".upper()

    @property
    def name(self) -> str:
        """NVIDIA's own spelling: `A100D-3-40C`, `DC-1-2Q`."""
        return f"{self.spelling or self.board.upper()}-{self.tail}"

    @property
    def vcenter(self) -> str:
        """Name in vCenter: `grid_a100d-3-40c`, `nvidia_rtx_pro_6000_blackwell_dc-1-2q`."""
        return f"{self.prefix}{self.printed}{self.name}".lower().replace(" ", "_")


@dataclass(frozen=True, slots=True)
class VgpuCut:
    """vGPUs that the hypervisor gives each machine of a pool."""

    type: VgpuType
    per_gpu: int | None
    """Maximum number of vGPUs of this type on one GPU, all of one size; None: not in a table."""
    fraction: Fraction
    """Share of a physical GPU that one vGPU is: one of `per_gpu`, else its part of the memory."""
    memory_bytes: int
    """Frame buffer of one vGPU in bytes."""
    license_secret: str | None
    scheduler: VgpuScheduler | None = None
    time_slice_ms: int | None = None

    @property
    def promised_time(self) -> Fraction | None:
        """Minimum part of the GPU's time that a vGPU gets; None: no guarantee, or unknown. An equal
        share is smallest when the GPU is full."""
        shared = (VgpuScheduler.EQUAL_SHARE, VgpuScheduler.FIXED_SHARE)
        if self.scheduler not in shared or self.per_gpu is None:
            return None
        return Fraction(1, self.per_gpu)

    @property
    def mig_backed(self) -> bool:
        """Whether MIG slices back it; else vGPUs take turns on the GPU."""
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
    """A vGPU type name in the spelling of vCenter, nvidia-smi, node labels or KubeVirt, in any
    case, with or without prefix; None: not such a name."""
    match = _NAME.fullmatch(name.lower())
    if match is None or (match["attribute"] and match["slices"] is None):
        return None
    return VgpuType(
        board=squeezed(match["board"]),
        slices=int(match["slices"]) if match["slices"] else None,
        gigabytes=int(match["gb"]),
        series=match["series"],
        attribute=match["attribute"] or "",
        prefix="nvidia_" if match["prefix"] == "nvidia" else "grid_",
    )


def of_board(board: VgpuBoard, found: VgpuType) -> VgpuType | None:
    """The type in the spelling of a board's row; None: the name is of another board."""
    for name in board.names:
        full = squeezed(board.printed + name)
        if found.board in (full, squeezed(name)):
            prefix = "nvidia_" if board.printed else found.prefix
            return replace(found, board=full, prefix=prefix, printed=board.printed, spelling=name)
    return None


def boards_of(gpus: Iterable[Gpu], name: str) -> list[tuple[Gpu, VgpuType]]:
    """GPUs that have the board of a type's name, with the type: two boards may share a short
    name."""
    found = parse_type(name)
    return [
        (gpu, known)
        for gpu in gpus
        if found and gpu.vgpu and (known := of_board(gpu.vgpu, found)) is not None
    ]


def cut(gpu: Gpu, count: int, declared: Vgpu, place: str) -> tuple[VgpuCut | None, list[Finding]]:
    """Partition of machines with `count` vGPUs of this type; None if a finding is an error."""
    where = f"{place}.profile"
    found = parse_type(declared.profile)
    if found is None:
        return None, [
            _finding("vgpu-profile-malformed", where, fix=(_examples(gpu)), value=declared.profile)
        ]
    known = None if gpu.vgpu is None else of_board(gpu.vgpu, found)
    findings = [*_check_board(gpu, found, known, where)]
    found = known or found
    findings += _check_series(gpu, found, where)
    per_gpu = None
    if gpu.vgpu is not None and not has_errors(findings):
        per_gpu = gpu.vgpu.types.get(found.tail)
        findings += _check_type(gpu, gpu.vgpu, found, where)
    if has_errors(findings):
        return None, findings
    profile = f"{found.slices}g.{found.gigabytes}gb"
    profiles = {*gpu.mig_published}
    if gpu.mig is not None:
        profiles |= {*gpu.mig.profiles, *gpu.mig.alternate_names}
    whole = found.slices is not None and profile in profiles
    findings += _rules(
        "vgpu", place, declared=declared, type=found, count=count, per_gpu=per_gpu, whole=whole
    )
    if (slicing := declared.time_slicing) is not None:
        memory = found.gigabytes * _GIB
        findings += small_shares(found.name, slicing.replicas, memory, f"{place}.timeSlicing")
    if has_errors(findings):
        return None, findings
    if per_gpu is not None:
        fraction = Fraction(1, per_gpu)
    else:
        fraction = min(Fraction(found.gigabytes, gpu.nominal_gb or found.gigabytes), Fraction(1))
    made = VgpuCut(
        found,
        per_gpu,
        fraction,
        found.gigabytes * _GIB,
        declared.license_secret,
        declared.scheduler,
        declared.time_slice_ms,
    )
    return made, findings


def most_per_gpu(gpus: Iterable[Gpu], name: str) -> int | None:
    """Maximum number of vGPUs of the type on one GPU, all of one size; None: in no table, or two
    boards of that name differ."""
    found = {
        gpu.vgpu.types[known.tail]
        for gpu, known in boards_of(gpus, name)
        if gpu.vgpu is not None and known.tail in gpu.vgpu.types
    }
    return found.pop() if len(found) == 1 else None


def _examples(gpu: Gpu, near: VgpuType | None = None) -> str | None:
    if gpu.vgpu is None:
        return None
    prefix = "nvidia_" if gpu.vgpu.printed or (near and near.prefix == "nvidia_") else "grid_"
    series = near.series if near and near.series == "q" else "c"
    tails = [tail.lower() for tail in gpu.vgpu.types if series.upper() in tail]
    # A slice of that many gigabytes is nearer than the same letters.
    wanted = near.tail.lower() if near else ""
    close = difflib.get_close_matches(wanted, tails, n=3, cutoff=0) if near else tails[:3]
    first = f"{prefix}{gpu.vgpu.printed}{gpu.vgpu.names[0]}".lower().replace(" ", "_")
    return f"write one of {', '.join(f'{first}-{tail}' for tail in close)}, as the host offers it"


def _check_series(gpu: Gpu, found: VgpuType, where: str) -> Iterable[Finding]:
    if found.series == "c":
        return
    plain = replace(found, series="c")
    there = gpu.vgpu is None or plain.tail in gpu.vgpu.types
    say = warning if found.series == "q" else error
    yield say(
        "vgpu-series-not-compute",
        where,
        f"series {found.series} is for {SERIES[found.series]}: CUDA containers "
        + ("run on it, and need its licence" if say is warning else "need the compute series"),
        f"write `{plain.vcenter}`" if there else _examples(gpu, plain),
        value=found.series,
    )


def _check_board(
    gpu: Gpu, found: VgpuType, known: VgpuType | None, where: str
) -> Iterable[Finding]:
    if gpu.vgpu is None:
        yield _finding("vgpu-board-not-in-table", where, gpu=gpu.key)
    elif known is None:
        own = [f"{gpu.vgpu.printed}{name}" for name in gpu.vgpu.names]
        yield _finding(
            "vgpu-other-gpu",
            where,
            fix=(_examples(gpu, found)),
            found=found.name,
            gpu=gpu.key,
            own=" or ".join(own),
            value=found.board,
            allowed=own,
        )


def _check_type(gpu: Gpu, board: VgpuBoard, found: VgpuType, where: str) -> Iterable[Finding]:
    if found.tail in board.types:
        return
    # A series of which the table has no type is one that its source leaves out.
    listed = any(found.series.upper() in tail for tail in board.types)
    yield (error if listed else warning)(
        "vgpu-type-unknown",
        where,
        f"{gpu.key} has no type {found.name} ({board.source.key})"
        if listed
        else f"the table has no types of series {found.series} of {gpu.key}: how many fit on a GPU "
        "is not checked",
        _examples(gpu, found),
        value=found.name,
    )
