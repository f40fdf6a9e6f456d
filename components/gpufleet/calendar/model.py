"""FleetCalendar: GPUs, promises and money over a time. Plain frozen data, times in UTC."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from gpufleet.findings import Finding
from gpufleet.spec.capacity import Capacity, MaintenanceWindow, TeamCommitment


@dataclass(frozen=True, slots=True)
class PoolWindows:
    """Facts from which the calendar of one pool is computed."""

    name: str
    path: str
    team: str | None
    machine: str
    gpus_per_node: int
    smallest: int
    """Fewest nodes."""
    largest: int
    """Maximum number of nodes."""
    capacity: tuple[Capacity, ...]
    maintenance: tuple[MaintenanceWindow, ...] = ()
    commitments: tuple[TeamCommitment, ...] = ()
    prices: tuple[tuple[int | None, int | None], ...] = ()
    """For each purchase option: lowest and highest price of a node, micro-dollars an hour."""
    shares: Mapping[str, float] | None = None
    """Team -> part of the uncommitted GPUs; None: no queues."""
    separately: bool = False
    """Whether each way of buying may reach the largest size by itself."""
    named: bool = True
    """Whether the fleet names teams at all; if not, no block counts as unused."""


@dataclass(frozen=True, slots=True)
class CalendarSpan:
    """A time in which nothing of one pool changes."""

    start: datetime
    end: datetime
    bought: int
    """GPUs of blocks, reservations and own hardware."""
    requested: int
    """GPUs that are bought on demand: not promised."""
    expected: int
    """GPUs of spot, flex start and queued capacity: an expectation."""
    out: int
    """GPUs in maintenance."""
    promised: Mapping[str, int]
    """Team -> GPUs by commitments."""
    teams: Mapping[str, int]
    """Team -> GPUs it can use; ``: GPUs of no team."""
    paid: int
    """Instances that are bought for this time, used or not."""
    unused: int
    """Instances among them that no team may use."""
    least: int | None
    """Micro-dollars an hour that are paid for any use; None: unknown."""
    most: int | None
    """Micro-dollars an hour at the largest size; None: unknown."""
    unused_cost: int | None
    """Micro-dollars an hour of the unused instances; None: unknown."""

    @property
    def gpus(self) -> int:
        """GPUs there can be."""
        return self.bought + self.requested + self.expected

    @property
    def seconds(self) -> int:
        """Length of the span."""
        return int((self.end - self.start).total_seconds())


@dataclass(frozen=True, slots=True)
class PoolCalendar:
    """One pool over the time of the calendar: spans without a hole between them."""

    name: str
    path: str
    spans: tuple[CalendarSpan, ...]


@dataclass(frozen=True, slots=True)
class TeamSpan:
    """A time in which a team has the same number of GPUs."""

    start: datetime
    end: datetime
    gpus: int
    sure: int
    """Nodes among them that are bought or owned."""


@dataclass(frozen=True, slots=True)
class CalendarAction:
    """Something that happens, or must be done, at a moment."""

    at: datetime
    pool: str
    text: str


@dataclass(frozen=True, slots=True)
class FleetCalendar:
    """All pools and teams over a time."""

    start: datetime
    end: datetime
    pools: tuple[PoolCalendar, ...]
    teams: Mapping[str, tuple[TeamSpan, ...]]
    """Team -> its spans; ``: GPUs of no team."""
    actions: tuple[CalendarAction, ...]
    findings: tuple[Finding, ...]
    least: Fraction | None
    """Micro-dollars that are paid for any use; None: unknown."""
    most: Fraction | None
    """Micro-dollars at the largest size; None: unknown."""
    unused: Fraction | None
    """Micro-dollars of blocks and reservations that no team may use; None: unknown."""
