"""The packing problem with all names and units resolved, and its answer: the place of each share,
the cost, and the gap to the lower bound.

Money is integer micro-dollars an hour, memory integer bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any

from gpufleet.catalogue.gpu import Gpu
from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.documents.plain_data import picked
from gpufleet.findings import Finding, ordered
from gpufleet.partition.placement import PlacedInstance

Host = tuple[int, int]
"""Milli-CPUs and MiB of memory that a share takes of its node."""
HostRoom = tuple[int | None, int | None]
"""The same of a node; None: not known."""


class Mode(StrEnum):
    """Kind of a slot on a GPU."""

    WHOLE = "whole"
    """The whole GPU."""
    MIG = "mig"
    """One MIG instance."""
    MPS = "mps"
    """One client of the CUDA multi-process service; memory limit enforced."""
    TIME_SLICING = "timeSlicing"
    """One turn on the GPU; nothing enforces the memory."""


REPLICATED = (Mode.MPS, Mode.TIME_SLICING)


@dataclass(frozen=True, slots=True)
class PackingMachine:
    """A machine type that may be bought, or that is already there."""

    name: str
    gpu: Gpu
    gpus: int
    """GPUs of one node, at least 1."""
    memory_bytes: int | None
    """Memory of one GPU; None where not sourced."""
    whole_only: bool = False
    """The devices are parts of a GPU (g6f): no MIG, no sharing."""
    modes: frozenset[Mode] = frozenset(Mode)
    """Allowed uses of its GPUs."""
    single_strategy: bool = False
    """The node's MIG strategy is `single`: all of its GPUs hold one profile only, or all are whole
    or shared. False: `mixed`."""
    micro_usd_per_hour: int | None = None
    """Price of one node; None: unknown."""
    max_nodes: int | None = None
    """Maximum number of nodes that may be bought; None: no limit, 0: only what is there."""
    path: str = ""
    """Its path in the file."""
    host: HostRoom = (None, None)


@dataclass(frozen=True, slots=True)
class ShareClass:
    """Equal shares: one entry of the file, requested `count` times."""

    name: str
    count: int
    mode: Mode | None
    """None: any MIG instance or whole GPU that is large enough."""
    profile: str | None = None
    """MIG: exactly this profile; None: any that is large enough."""
    gpus: int = 1
    """Whole GPUs of one share, all on one node."""
    memory_bytes: int = 0
    """Minimum memory of the slot, per GPU for whole GPUs; 0: no minimum."""
    compute_slices: int = 0
    """Least compute slices of a MIG instance."""
    replicas: int | None = None
    """MPS and time-slicing: most shares one GPU may be divided into; None: memory alone decides."""
    machines: frozenset[str] | None = None
    """Names of the machines it may go to; None: all."""
    path: str = ""
    host: Host = (0, 0)


@dataclass(frozen=True, slots=True)
class GpuState:
    """Existing use of one GPU. It is never moved."""

    occupied: tuple[PlacedInstance, ...] = ()
    """MIG instances, by start slot."""
    mig: bool = False
    """In MIG mode, even where no instance exists: takes instances only."""
    full: bool = False
    """Nothing more fits: a whole-GPU share is on it."""
    mode: Mode | None = None
    """MPS or time-slicing, where it is divided so."""
    replicas: int = 1
    taken: int = 0
    """Shares of a divided GPU that are in use."""

    @property
    def untouched(self) -> bool:
        """Whether the GPU may still be used in any way."""
        return not (self.occupied or self.mig or self.full or self.mode)


@dataclass(frozen=True, slots=True)
class ExistingNode:
    """A node that is already there and paid for."""

    name: str
    machine: str
    gpus: tuple[GpuState, ...]
    path: str = ""
    host: HostRoom | None = None
    """Free resources of the node; None: all resources of its machine."""


@dataclass(frozen=True)
class PackingProblem:
    """Everything a packer needs."""

    machines: Mapping[str, PackingMachine]
    shares: tuple[ShareClass, ...]
    existing: tuple[ExistingNode, ...] = ()

    @cached_property
    def priced(self) -> bool:
        """Whether every machine that may be bought has a price; else GPUs are counted."""
        return all(
            m.micro_usd_per_hour is not None for m in self.machines.values() if m.max_nodes != 0
        )

    def cost_of(self, machine: PackingMachine) -> int:
        """Cost of one new node: micro-dollars an hour, else its GPUs."""
        if self.priced:
            return machine.micro_usd_per_hour or 0
        return machine.gpus

    @cached_property
    def by_name(self) -> dict[str, ShareClass]:
        """Share classes by name."""
        return {share.name: share for share in self.shares}


class PackingMethod(StrEnum):
    """Method that found the answer."""

    INTEGER_PROGRAM = "integer-program"
    """Integer program by HiGHS."""
    HEURISTIC = "heuristic"
    """Largest first, into the place that leaves most others usable; the gap limits the error."""


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
    """Cost of the bought nodes: micro-dollars an hour, or GPUs where a price is missing."""
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
        """Part of the cost that is not proven necessary, relative to the bound; 0 is optimal."""
        if self.cost == self.lower_bound or not self.complete:
            return Decimal(0)
        if self.lower_bound == 0:
            return Decimal(1)
        return Decimal(self.cost - self.lower_bound) / Decimal(self.lower_bound)


def packing_as_dict(packing: Packing | None, findings: tuple[Finding, ...] = ()) -> dict[str, Any]:
    """Costs in dollars an hour (`unit` usd/h), or GPU-hours an hour where a price is missing.

    The output of `gpufleet pack --format json`. None: the file could not be packed, for the reasons
    in `findings`; the keys are the same.
    """
    if packing is None:
        nothing = Packing((), (), {}, 0, 0, True, 0, PackingMethod.HEURISTIC, ordered(findings))
        unknown = ("cost", "unit", "gpus", "lowerBound", "gap", "method")
        return packing_as_dict(nothing) | dict.fromkeys(unknown) | {"complete": False}
    unit = MICRO_USD if packing.priced else 1
    return {
        "cost": packing.cost / unit,
        "unit": "usd/h" if packing.priced else "gpu-hours/h",
        "gpus": packing.gpus,
        "lowerBound": packing.lower_bound / unit,
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
