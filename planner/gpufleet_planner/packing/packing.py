"""The answer: which share sits where, what it costs, and how far that is from the bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.findings import Finding, ordered
from gpufleet_planner.explanation.line import picked
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


_KEYS = (
    "cost", "unit", "gpus", "lowerBound", "lower_bound", "gap", "method", "complete", "nodes",
    "assignment", "unplaced",
)  # fmt: skip


def packing_as_dict(packing: Packing | None, findings: tuple[Finding, ...] = ()) -> dict[str, Any]:
    """Costs in dollars an hour (`unit` usd/h), or GPU-hours an hour where a price is missing.

    What `gpufleet pack --format json` prints. None: the file could not be packed, for the reasons
    in `findings`; the keys are the same. `lower_bound` is the old spelling of `lowerBound`.
    """
    if packing is None:
        empty: dict[str, Any] = dict.fromkeys(_KEYS)
        empty |= {"complete": False, "nodes": [], "assignment": [], "unplaced": {}}
        return empty | {"findings": [finding.as_dict() for finding in ordered(findings)]}
    unit = MICRO_USD if packing.priced else 1
    return {
        "cost": packing.cost / unit,
        "unit": "usd/h" if packing.priced else "gpu-hours/h",
        "gpus": packing.gpus,
        "lowerBound": packing.lower_bound / unit,
        "lower_bound": packing.lower_bound / unit,
        "gap": float(packing.gap),
        "method": packing.method.value,
        "complete": packing.complete,
        "nodes": [{"node": n.name, **picked(n, "machine", "existing")} for n in packing.nodes],
        "assignment": [_assignment(a) for a in packing.assignments],
        "unplaced": dict(packing.unplaced),
        "findings": [finding.as_dict() for finding in packing.findings],
    }


def _assignment(a: Assignment) -> dict[str, Any]:
    further = {Mode.MIG: ("profile", "start"), Mode.WHOLE: ()}.get(a.mode, ("replicas",))
    return picked(a, "share", "index", "node", "gpus", "mode", *further)
