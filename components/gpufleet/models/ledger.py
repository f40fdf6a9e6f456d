"""The itemised account of one GPU's memory, on which every result about memory is based.

Bytes are integers. Each item states the basis of its figure and the formula, so that a reader can
check each line separately.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

GIB = 1 << 30
"""Bytes in one GiB. Formulas count bytes; only printing converts."""


class Basis(StrEnum):
    """Basis of a figure, best first."""

    MEASURED = "measured"
    """Read from a published measurement, a driver or the checkpoint itself."""
    MODELLED = "modelled"
    """Computed from sourced inputs by a formula that was checked against measurements."""
    ASSUMED = "assumed"
    """A planning constant, or computed from an assumed input."""


_RANK = {basis: rank for rank, basis in enumerate(Basis)}


def weakest(bases: Iterable[Basis]) -> Basis:
    """Basis of a sum: the weakest basis of its terms; `measured` for no terms."""
    return max(bases, key=_RANK.__getitem__, default=Basis.MEASURED)


def modelled(inputs: Basis) -> Basis:
    """Basis of a formula's result: `modelled`, or the basis of its inputs if that is weaker."""
    return weakest((Basis.MODELLED, inputs))


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a ledger."""

    key: str
    """Stable snake_case name: `weights`, `kv_cache`, `activations`, ..."""
    bytes: int
    """Never negative."""
    basis: Basis
    formula: str
    """The arithmetic in words and numbers, for readers."""
    at_peak: bool = True
    """Whether it is allocated at the moment of highest use. Gradients of a single GPU are not when
    activations are larger: they grow while activations are freed."""
    in_allocator: bool = True
    """Whether the framework's own counter includes it; the CUDA context, say, is outside."""

    def __post_init__(self) -> None:
        if self.bytes < 0:
            raise ValueError(
                f"{self.key}: {self.bytes} bytes; an item of a ledger is never negative"
            )


@dataclass(frozen=True, slots=True)
class Margin:
    """Reserve that planning adds: need * (100 + percent) / 100 + fixed_bytes."""

    percent: int
    fixed_bytes: int


INFERENCE_MARGIN = Margin(5, GIB // 2)
"""5 % and 0.5 GiB: fragmentation with expandable segments, and use without a formula."""
TRAINING_MARGIN = Margin(10, GIB)
"""10 % and 1 GiB: training fragments more and its communication buffers are larger."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Memory of the fullest GPU (or slice) of one replica or training job."""

    items: tuple[Item, ...]
    margin: Margin

    @property
    def total_bytes(self) -> int:
        """The need at the peak: the sum of the items that are allocated then."""
        return sum(item.bytes for item in self.items if item.at_peak)

    @property
    def planning_bytes(self) -> int:
        """The need with its margin, rounded up: compare this with usable memory."""
        scaled = -(-self.total_bytes * (100 + self.margin.percent) // 100)
        return scaled + self.margin.fixed_bytes

    @property
    def basis(self) -> Basis:
        """Basis of the total: the weakest basis of items above 1 % of it."""
        floor = self.total_bytes // 100
        return weakest(i.basis for i in self.items if i.at_peak and i.bytes > floor)

    def __getitem__(self, key: str) -> Item:
        for item in self.items:
            if item.key == key:
                return item
        raise KeyError(f"no item {key!r}; there is {', '.join(item.key for item in self.items)}")


def ledger(items: Iterable[Item], margin: Margin) -> Ledger:
    """A ledger of the items that take anything at all."""
    return Ledger(tuple(item for item in items if item.bytes), margin)
