"""The answer: which share sits where, what it costs, and how far that is from the bound."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.findings import Finding, ordered
from gpufleet_planner.packing.problem import Mode


class PackingMethod(StrEnum):
    """How the answer was found."""

    INTEGER_PROGRAM = "integer-program"
    """Integer program by HiGHS."""
    HEURISTIC = "heuristic"
    """Largest first into the place that keeps most others open; the gap says how good it is."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One share in its place."""

    share: str
    """Name of its class."""
    index: int
    """Which of the class, from 0."""
    node: str
    gpus: tuple[int, ...]
    """GPU indices on the node, from 0."""
    mode: Mode
    profile: str | None = None
    start: int | None = None
    """MIG: first memory slot."""
    replicas: int = 1
    """MPS and time-slicing: into how many shares the GPU is divided."""


@dataclass(frozen=True, slots=True)
class PackedNode:
    """A node the packing uses."""

    name: str
    machine: str
    existing: bool


@dataclass(frozen=True, slots=True)
class Packing:
    """Shares on GPUs on nodes."""

    assignments: tuple[Assignment, ...]
    """In the order of the file, then by place."""
    nodes: tuple[PackedNode, ...]
    """Existing nodes that take something, then the bought ones."""
    unplaced: Mapping[str, int]
    """Share class -> shares without a place; empty when everything was placed."""
    cost: int
    """Of the bought nodes: micro-dollars an hour, or GPUs where a price is missing."""
    lower_bound: int
    """No packing of all shares costs less; same unit."""
    priced: bool
    """Whether costs are money."""
    gpus: int
    """GPUs of the bought nodes."""
    method: PackingMethod
    findings: tuple[Finding, ...] = ()

    def with_findings(self, findings: tuple[Finding, ...]) -> "Packing":
        """The same packing with what was found before it."""
        return replace(self, findings=ordered((*findings, *self.findings)))

    @property
    def complete(self) -> bool:
        """Whether every share has a place."""
        return not self.unplaced

    @property
    def gap(self) -> Decimal:
        """How much of the cost is not proven necessary: 0 is optimal. Relative to the bound."""
        if self.cost == self.lower_bound or not self.complete:
            return Decimal(0)
        if self.lower_bound == 0:
            return Decimal(1)
        return Decimal(self.cost - self.lower_bound) / Decimal(self.lower_bound)

    @property
    def usd_per_hour(self) -> Decimal | None:
        """The cost in dollars; None where a price is missing."""
        return Decimal(self.cost) / MICRO_USD if self.priced else None
