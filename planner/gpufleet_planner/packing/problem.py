"""What is to be packed, resolved: no names to look up, no units to read, no file in sight.

Money is integer micro-dollars an hour, memory integer bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from gpufleet.catalogue.gpu import Gpu
from gpufleet.partition.placement import PlacedInstance

Host = tuple[int, int]
"""Milli-CPUs and MiB of memory that a share takes of its node."""
HostRoom = tuple[int | None, int | None]
"""The same of a node; None: not known."""


class Mode(StrEnum):
    """What a slot on a GPU is."""

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
    """How its GPUs may be used."""
    single_strategy: bool = False
    """The node's MIG strategy is `single`: all of its GPUs hold one profile only, or all are whole
    or shared. False: `mixed`."""
    micro_usd_per_hour: int | None = None
    """Price of one node; None: unknown."""
    max_nodes: int | None = None
    """Maximum number of nodes that may be bought; None: no limit, 0: only what is there."""
    path: str = ""
    """Where it is in the file."""
    host: HostRoom = (None, None)


@dataclass(frozen=True, slots=True)
class ShareClass:
    """Shares that are all alike: one entry of the file, wanted `count` times."""

    name: str
    count: int
    mode: Mode | None
    """None: any MIG instance or whole GPU that is large enough."""
    profile: str | None = None
    """MIG: exactly this profile; None: any that is large enough."""
    gpus: int = 1
    """Whole GPUs of one share, all on one node."""
    memory_bytes: int = 0
    """Least memory of the slot, per GPU for whole GPUs; 0: any."""
    compute_slices: int = 0
    """Least compute slices of a MIG instance."""
    replicas: int | None = None
    """MPS and time-slicing: most shares one GPU may be divided into; None: memory alone decides."""
    machines: frozenset[str] | None = None
    """Names of the machines it may go to; None: all."""
    path: str = ""
    host: Host = (0, 0)


@dataclass(frozen=True, slots=True)
class Quota:
    """Maximum number of GPUs that may be bought over several machine types together."""

    name: str
    machines: frozenset[str]
    gpus: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class GpuState:
    """What is on one GPU before anything is placed. It is never moved."""

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
    """What is left on it; None: all that its machine has."""


@dataclass(frozen=True)
class PackingProblem:
    """Everything a packer needs."""

    machines: Mapping[str, PackingMachine]
    shares: tuple[ShareClass, ...]
    existing: tuple[ExistingNode, ...] = ()
    quotas: tuple[Quota, ...] = ()

    @cached_property
    def priced(self) -> bool:
        """Whether every machine that may be bought has a price; else GPUs are counted."""
        return all(
            m.micro_usd_per_hour is not None for m in self.machines.values() if m.max_nodes != 0
        )

    def cost_of(self, machine: PackingMachine) -> int:
        """What one new node adds to the cost: micro-dollars an hour, else its GPUs."""
        if self.priced:
            return machine.micro_usd_per_hour or 0
        return machine.gpus

    @cached_property
    def by_name(self) -> dict[str, ShareClass]:
        """Share classes by name."""
        return {share.name: share for share in self.shares}
