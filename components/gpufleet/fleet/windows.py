"""Times at which a pool has nodes: windows of capacity, maintenance, and commitments to teams.

Everything is a function of a time. `None` as the time means that no time is considered: every
window counts as open, and no maintenance is in progress.

Sources: Amazon EC2 user guide, Capacity Blocks for ML: instances can be used until 30 minutes
before the end, then EC2 terminates them (aws/karpenter-provider-aws 7da2ad7
`designs/capacity-block-support.md` quotes it). 60 minutes for UltraServer types, which are
P6e-GB200 and Trn2 (same page). Machines of a Trn2 UltraServer are trn2u.48xlarge (AWS Neuron
documentation, Trn2 architecture).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpufleet.spec.capacity import Capacity, MaintenanceWindow, TeamCommitment

RECLAIM = timedelta(minutes=30)
"""Time before the end of a Capacity Block in which EC2 terminates its instances."""
ULTRASERVER_RECLAIM = timedelta(minutes=60)
"""The same for UltraServers."""
DRAIN = timedelta(minutes=30)
"""Time for pods to leave before EC2 terminates instances. Ours: AWS recommends to scale to zero
"more than 30 minutes" before the end (EKS user guide, Capacity Blocks), and Karpenter takes 10
minutes more (the design above)."""
_ULTRASERVERS = ("p6e-", "trn2u.")


@dataclass(frozen=True, slots=True)
class BoughtWindow:
    """A time for which capacity is bought or owned."""

    starts: datetime | None
    """None: no start, it has always been available."""
    usable_until: datetime | None
    """None: it does not end."""
    paid_until: datetime | None
    instances: int | None
    """None: the pool's largest size."""
    id: str | None
    """Id of the block or reservation."""

    def is_usable(self, at: datetime) -> bool:
        """Whether nodes can run in it at that time."""
        return _open(at, self.starts, self.usable_until)

    def is_paid(self, at: datetime) -> bool:
        """Whether it costs money at that time."""
        return _open(at, self.starts, self.paid_until)


@dataclass(frozen=True, slots=True)
class NodesAt:
    """Nodes that a pool can have at one time, by certainty."""

    bought: int
    """Blocks, reservations, own hardware."""
    requested: int
    """On demand: not guaranteed, but usually available."""
    expected: int
    """Spot, flex start, queued: may start late, be reclaimed, or never start."""

    @property
    def total(self) -> int:
        """All together."""
        return self.bought + self.requested + self.expected


def bought_window(entry: Capacity, machine: str) -> BoughtWindow | None:
    """The window of a block, a reservation or own hardware; None for other capacity types."""
    block, reserved = entry.capacity_block, entry.reserved
    if block is not None:
        before = ULTRASERVER_RECLAIM if machine.startswith(_ULTRASERVERS) else RECLAIM
        usable = block.until - before
        return BoughtWindow(block.starts, usable, block.until, block.instances, block.id)
    if reserved is not None:
        end = reserved.until
        return BoughtWindow(reserved.starts, end, end, reserved.instances, reserved.id)
    return None if entry.on_prem is None else BoughtWindow(None, None, None, None, None)


def nodes_at(
    capacity: Sequence[Capacity],
    maintenance: Sequence[MaintenanceWindow],
    machine: str,
    largest: int,
    at: datetime | None,
) -> NodesAt:
    """Nodes that the pool can have at a time. Maintenance takes bought nodes first."""
    modes = {entry.mode for entry in capacity}
    left = largest
    bought = 0
    for entry in capacity:
        window = bought_window(entry, machine)
        if window is not None and (at is None or window.is_usable(at)):
            part = left if window.instances is None else min(left, window.instances)
            bought, left = bought + part, left - part
    requested = left if "onDemand" in modes else 0
    expected = left if not requested and modes & {"spot", "flexStart", "queued"} else 0
    out = 0 if at is None else nodes_out(maintenance, largest, at)
    kept: list[int] = []
    for part in (bought, requested, expected):
        gone = min(part, out)
        kept.append(part - gone)
        out -= gone
    return NodesAt(*kept)


def nodes_out(maintenance: Sequence[MaintenanceWindow], largest: int, at: datetime) -> int:
    """Nodes that are out of service; windows that overlap add up."""
    open_now = [one for one in maintenance if _open(at, one.starts, one.until)]
    return min(largest, sum(largest if one.nodes is None else one.nodes for one in open_now))


def open_capacity(
    capacity: Sequence[Capacity], machine: str, at: datetime | None
) -> tuple[Capacity, ...]:
    """Capacity types that cost money at a time, if they are used."""
    if at is None:
        return tuple(capacity)
    windows = ((entry, bought_window(entry, machine)) for entry in capacity)
    return tuple(entry for entry, one in windows if one is None or one.is_paid(at))


def committed(commitments: Sequence[TeamCommitment], at: datetime | None) -> Mapping[str, int]:
    """Team -> GPUs that are promised to it at a time. Without a time, only promises without a time
    count."""
    found: dict[str, int] = {}
    for one in commitments:
        timeless = one.starts is None and one.until is None
        if timeless if at is None else _open(at, one.starts, one.until):
            found[one.team] = found.get(one.team, 0) + one.gpus
    return found


def edges(
    capacity: Sequence[Capacity],
    maintenance: Sequence[MaintenanceWindow],
    commitments: Sequence[TeamCommitment],
    machine: str,
) -> Iterator[datetime]:
    """Every time at which a property of a pool changes."""
    for entry in capacity:
        window = bought_window(entry, machine)
        if window is not None:
            yield from _known(window.starts, window.usable_until, window.paid_until)
    for one in (*maintenance, *commitments):
        yield from _known(one.starts, one.until)


def _known(*moments: datetime | None) -> Iterator[datetime]:
    return (one for one in moments if one is not None)


def _open(at: datetime, starts: datetime | None, until: datetime | None) -> bool:
    return (starts is None or starts <= at) and (until is None or at < until)
