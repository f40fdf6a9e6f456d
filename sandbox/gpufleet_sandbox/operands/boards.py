"""MIG geometry of each GPU board: the simulators' own table, keyed by NVML product name.

Deliberately a second source, written in another form than the catalogue: geometry is built from
the few numbers that differ between boards. Facts from `nvidia-smi mig -lgip` and `-lgipp` outputs
published for these boards and from NVIDIA's MIG user guide, read 2026-11-21. Placements of H100-96,
GH200, B200, GB200, B300 and GB300 follow the geometry of every published seven-slice part; no
output of those boards was found.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of GPU instance on the board."""

    name: str
    """In the spelling of mig-parted files: `1g.10gb+me`."""
    compute: int
    """Compute slices it takes."""
    width: int
    """Memory slots it covers."""
    starts: tuple[int, ...]
    most: int
    """Instances of this kind one GPU may hold."""
    decoders: int
    """Video decoders it takes from the GPU's; the budget that limits media variants."""
    flow_units: int
    """Optical-flow units (OFA) it takes: the one set that `+me` gives away."""
    memory_mib: int | None
    """Memory an instance reports; None where no output was found."""
    multiprocessors: int | None

    @property
    def resource_suffix(self) -> str:
        """The name where `+` is not allowed: resource names, labels, config names."""
        return self.name.replace("+", ".").replace(",", ".")


@dataclass(frozen=True, slots=True)
class Board:
    """One GPU model as the driver sees it."""

    product: str
    family: str
    compute_capability: tuple[int, int]
    pci_id: str
    """Device and vendor as a mig-parted device filter writes them; empty where not needed."""
    shapes: tuple[Shape, ...] = ()
    compute_slices: int = 0
    memory_slots: int = 0
    decoders: int = 0
    flow_units: int = 0
    virtual: bool = False
    """A vGPU in a guest."""

    @property
    def mig_capable(self) -> bool:
        """Whether the board supports MIG."""
        return bool(self.shapes)

    @property
    def mode_change_needs_reset(self) -> bool:
        """Ampere switches MIG mode only by a GPU reset; Hopper and later need an idle GPU."""
        return self.family == "ampere"

    @property
    def mps_client_limit(self) -> int:
        """Maximum number of clients the device plugin accepts: 48 from compute capability 7.5 on,
        16 before."""
        return 48 if self.compute_capability >= (7, 5) else 16

    def shape(self, name: str) -> Shape | None:
        """The shape of that name on this board."""
        return next((shape for shape in self.shapes if shape.name == name), None)


_SEVEN_KINDS = ("1g", "1g+me", "1g wide", "2g", "3g", "4g", "7g")
_AMPERE_MEDIA = ((0, 0), (1, 1), (1, 0), (1, 0), (2, 0), (2, 0), (5, 1))
_LATER_MEDIA = ((1, 0), (1, 1), (1, 0), (2, 0), (3, 0), (4, 0), (7, 1))


def _seven_slices(
    gigabytes: tuple[int, int, int, int],
    mebibytes: tuple[int | None, int | None, int | None, int | None] = (None, None, None, None),
    multiprocessors: tuple[int, int, int, int, int, int] | None = None,
    media: tuple[tuple[int, int], ...] = _LATER_MEDIA,
) -> tuple[Shape, ...]:
    """Seven compute slices over eight memory slots; the figures go by width 1, 2, 4 and 8."""
    rows = (
        # compute, width, starts, most, column of the memory figures, column of the processors
        (1, 1, range(7), 7, 0, 0),
        (1, 1, range(7), 1, 0, 0),
        (1, 2, range(0, 8, 2), 4, 1, 1),
        (2, 2, range(0, 6, 2), 3, 1, 2),
        (3, 4, (0, 4), 2, 2, 3),
        (4, 4, (0,), 1, 2, 4),
        (7, 8, (0,), 1, 3, None),
    )
    processors = (*multiprocessors, None) if multiprocessors else (None,) * 7
    whole = multiprocessors[5] if multiprocessors else None
    shapes: list[Shape] = []
    for kind, (compute, width, starts, most, memory, column), (decoders, flow) in zip(
        _SEVEN_KINDS, rows, media, strict=True
    ):
        suffix = "+me" if kind.endswith("+me") else ""
        shapes.append(
            Shape(
                name=f"{compute}g.{gigabytes[memory]}gb{suffix}",
                compute=compute,
                width=width,
                starts=tuple(starts),
                most=most,
                decoders=decoders,
                flow_units=flow,
                memory_mib=mebibytes[memory],
                multiprocessors=whole if column is None else processors[column],
            )
        )
    return tuple(shapes)


_AMPERE_SM = (14, 14, 28, 42, 56, 98)
_HOPPER_SM = (16, 26, 32, 60, 64, 132)
_A100_40 = _seven_slices((5, 10, 20, 40), (4864, 9856, 19968, 40192), _AMPERE_SM, _AMPERE_MEDIA)
_A100_80 = _seven_slices((10, 20, 40, 80), (9728, 19968, 40192, 80896), _AMPERE_SM, _AMPERE_MEDIA)
_H100_80 = _seven_slices((10, 20, 40, 80), (9984, 20096, 40448, 81152), _HOPPER_SM)
_H100_94 = _seven_slices((12, 24, 47, 94), (11008, 22144, 47488, 95360), _HOPPER_SM)
_H100_96 = _seven_slices((12, 24, 48, 96))
_H200 = _seven_slices((18, 35, 71, 141), (16384, 33024, 71168, None), _HOPPER_SM)
_GH200_144 = _seven_slices((18, 36, 72, 144), (17920, 36096, None, None))
_B200 = _seven_slices((23, 45, 90, 180), (20992, 45312, None, None))
_GB200 = _seven_slices((23, 47, 93, 186), (22528, 46592, None, None))
_B300 = _seven_slices((34, 67, 135, 269))
_GB300 = _seven_slices((35, 70, 139, 278))

_A30 = (
    Shape("1g.6gb", 1, 1, (0, 1, 2, 3), 4, 0, 0, 5949, 14),
    Shape("1g.6gb+me", 1, 1, (0, 1, 2, 3), 1, 1, 1, 5949, 14),
    Shape("2g.12gb", 2, 2, (0, 2), 2, 2, 0, 11970, 28),
    Shape("2g.12gb+me", 2, 2, (0, 2), 1, 2, 1, 11970, 28),
    Shape("4g.24gb", 4, 4, (0,), 1, 4, 1, 24002, 56),
)

_QUARTER, _HALF = (0, 3, 6, 9), (0, 6)
_RTX_PRO_6000 = (
    Shape("1g.24gb", 1, 3, _QUARTER, 4, 1, 0, 24192, 46),
    Shape("1g.24gb+me", 1, 3, _QUARTER, 1, 1, 1, 24192, 46),
    Shape("1g.24gb+gfx", 1, 3, _QUARTER, 4, 1, 0, 24192, 46),
    Shape("1g.24gb+me.all", 1, 3, _QUARTER, 1, 4, 1, 24192, 46),
    Shape("1g.24gb-me", 1, 3, _QUARTER, 4, 0, 0, 24192, 46),
    Shape("2g.48gb", 2, 6, _HALF, 2, 2, 0, 48512, 94),
    Shape("2g.48gb+gfx", 2, 6, _HALF, 2, 2, 0, 48512, 94),
    Shape("2g.48gb+me.all", 2, 6, _HALF, 1, 4, 1, 48512, 94),
    Shape("2g.48gb-me", 2, 6, _HALF, 2, 0, 0, 48512, 94),
    Shape("4g.96gb", 4, 12, (0,), 1, 4, 1, 97280, 188),
    Shape("4g.96gb+gfx", 4, 12, (0,), 1, 4, 1, 97280, 188),
)


def _cut(
    product: str, family: str, capability: tuple[int, int], pci: str, shapes: tuple[Shape, ...]
) -> Board:
    whole = max(shapes, key=lambda shape: shape.width)
    return Board(
        product,
        family,
        capability,
        pci,
        shapes,
        compute_slices=whole.compute,
        memory_slots=whole.width,
        decoders=whole.decoders,
        flow_units=whole.flow_units,
    )


def _boards() -> Iterable[Board]:
    ampere, hopper, blackwell = ("ampere", (8, 0)), ("hopper", (9, 0)), ("blackwell", (10, 0))
    later_blackwell = ("blackwell", (10, 3))
    yield _cut("NVIDIA A30", *ampere, "0x20B710DE", _A30)
    yield _cut("NVIDIA A100-SXM4-40GB", *ampere, "0x20B010DE", _A100_40)
    yield _cut("NVIDIA A100-PCIE-40GB", *ampere, "0x20F110DE", _A100_40)
    yield _cut("NVIDIA A100-SXM4-80GB", *ampere, "0x20B210DE", _A100_80)
    yield _cut("NVIDIA A100 80GB PCIe", *ampere, "0x20B510DE", _A100_80)
    yield _cut("NVIDIA H100 80GB HBM3", *hopper, "0x233010DE", _H100_80)
    yield _cut("NVIDIA H100 PCIe", *hopper, "0x233110DE", _H100_80)
    yield _cut("NVIDIA H100 NVL", *hopper, "0x232110DE", _H100_94)
    yield _cut("NVIDIA GH200 480GB", *hopper, "0x234210DE", _H100_96)
    yield _cut("NVIDIA GH200 96GB HBM3", *hopper, "0x234210DE", _H100_96)
    yield _cut("NVIDIA H20", *hopper, "0x232910DE", _H100_96)
    yield _cut("NVIDIA H200", *hopper, "0x233510DE", _H200)
    yield _cut("NVIDIA H200 NVL", *hopper, "0x233B10DE", _H200)
    yield _cut("NVIDIA GH200 144G HBM3e", *hopper, "0x234810DE", _GH200_144)
    yield _cut("NVIDIA B200", *blackwell, "0x290110DE", _B200)
    yield _cut("NVIDIA GB200", *blackwell, "0x294110DE", _GB200)
    yield _cut("NVIDIA B300", *later_blackwell, "0x318210DE", _B300)
    yield _cut("NVIDIA B300 SXM6 AC", *later_blackwell, "0x318210DE", _B300)
    yield _cut("NVIDIA GB300", *later_blackwell, "0x31C210DE", _GB300)
    yield _cut(
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "blackwell",
        (12, 0),
        "0x2BB510DE",
        _RTX_PRO_6000,
    )
    # Their PCI ids were not found in a file of NVIDIA's.
    for edition in ("Workstation Edition", "Max-Q Workstation Edition"):
        name = f"NVIDIA RTX PRO 6000 Blackwell {edition}"
        yield _cut(name, "blackwell", (12, 0), "", _RTX_PRO_6000)
    for product, family, capability in (
        ("GRID K520", "kepler", (3, 0)),
        ("Tesla K80", "kepler", (3, 7)),
        ("Tesla M60", "maxwell", (5, 2)),
        ("Tesla P4", "pascal", (6, 1)),
        ("Tesla P100-PCIE-16GB", "pascal", (6, 0)),
        ("Tesla P100-SXM2-16GB", "pascal", (6, 0)),
        ("Tesla V100-SXM2-16GB", "volta", (7, 0)),
        ("Tesla V100-SXM2-16GB-N", "volta", (7, 0)),
        ("Tesla V100-SXM3-32GB", "volta", (7, 0)),
        ("Tesla V100S-PCIE-32GB", "volta", (7, 0)),
        ("Tesla V100-SXM2-32GB", "volta", (7, 0)),
        ("Tesla V100-PCIE-16GB", "volta", (7, 0)),
        ("Tesla V100-PCIE-32GB", "volta", (7, 0)),
        ("Tesla T4", "turing", (7, 5)),
        ("NVIDIA T4G", "turing", (7, 5)),
        ("NVIDIA A2", "ampere", (8, 6)),
        ("NVIDIA RTX A6000", "ampere", (8, 6)),
        ("NVIDIA A10", "ampere", (8, 6)),
        ("NVIDIA A10G", "ampere", (8, 6)),
        ("NVIDIA A16", "ampere", (8, 6)),
        ("NVIDIA A40", "ampere", (8, 6)),
        ("NVIDIA L2", "ada-lovelace", (8, 9)),
        ("NVIDIA L4", "ada-lovelace", (8, 9)),
        ("NVIDIA L20", "ada-lovelace", (8, 9)),
        ("NVIDIA L40", "ada-lovelace", (8, 9)),
        ("NVIDIA L40S", "ada-lovelace", (8, 9)),
        ("NVIDIA RTX 6000 Ada Generation", "ada-lovelace", (8, 9)),
        ("NVIDIA GB10", "blackwell", (12, 1)),
        # These support MIG, but no placements of them were found: whole GPUs only.
        ("NVIDIA H20-3e", "hopper", (9, 0)),
        ("NVIDIA RTX PRO 5000 Blackwell", "blackwell", (12, 0)),
        ("NVIDIA RTX PRO 4500 Blackwell", "blackwell", (12, 0)),
        ("NVIDIA RTX PRO 4500 Blackwell Server Edition", "blackwell", (12, 0)),
    ):
        yield Board(product, family, capability, "")


BOARDS: dict[str, Board] = {board.product: board for board in _boards()}
"""Every board the simulated fleet may carry, by the name NVML reports."""


def board_named(product: str) -> Board | None:
    """The board of an NVML product name; `Tesla` and `NVIDIA` prefixes are interchangeable."""
    if product in BOARDS:
        return BOARDS[product]
    bare = _bare(product)
    return next((board for name, board in BOARDS.items() if _bare(name) == bare), None)


def _bare(product: str) -> str:
    return product.removeprefix("NVIDIA ").removeprefix("Tesla ")
