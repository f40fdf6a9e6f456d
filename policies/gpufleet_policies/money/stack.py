"""Cost of everything declared together: smallest and largest, by pool and by team.

Workloads are no part of it: they run on the pools, and would be counted twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.capacity import Reservation
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.queues import ClusterQueue
from gpufleet.findings.money import MICRO_USD
from gpufleet_policies.money.pools import pool_price, reach, way_price

UNREADABLE = "its limits cannot be read"
"""Why a bound is missing that may exist all the same."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An amount in micro-dollars an hour, or the reason why there is none."""

    micro_usd_per_hour: int | None
    causes: tuple[str, ...] = ()
    """Each names its pool; empty where the amount bounds everything."""

    @property
    def is_bounded(self) -> bool:
        """Whether the amount counts everything."""
        return not self.causes


@dataclass(frozen=True, slots=True)
class PoolSpend:
    """One pool, or what of a reservation no pool uses."""

    name: str
    standing: int | None
    """Micro-dollars an hour at its smallest size; None: not known or not priced."""
    exposure: int | None
    """At its largest size; None: unbounded or not priced."""
    cause: str = ""
    """Why `exposure` is missing."""
    team: str = ""
    """Owner of the costs, by its tag or declaration."""
    object: str = ""
    """The object that declares it, as messages name it; a fleet declares several pools."""


@dataclass(frozen=True, slots=True)
class StackSpend:
    """Everything declared together."""

    pools: tuple[PoolSpend, ...]
    standing: Bound
    exposure: Bound
    queues: Mapping[str, Bound]
    """ClusterQueue -> the most its quota and what it may borrow can cost."""
    teams: Mapping[str, Bound]
    """Team -> the most the pools that name it can cost."""


def stack_spend(
    pools: Iterable[NodePool],
    queues: Iterable[ClusterQueue],
    catalogue: Catalogue,
    reservations: Iterable[Reservation] = (),
) -> StackSpend:
    """Exact sums over the pools that have GPUs, and the part of them that each queue may use.

    A reservation is billed whether it is used or not: its cost beyond that of the pools that name
    it is a separate row.
    """
    carrying = [pool for pool in pools if pool.is_certainly_gpu]
    rows = tuple(_pool(pool, catalogue) for pool in carrying)
    rows += tuple(_unused(one, carrying, rows, catalogue) for one in reservations)
    standing = _sum(
        [(row.name, row.standing, "its smallest size or price is not known") for row in rows]
    )
    exposure = _sum([(row.name, row.exposure, row.cause) for row in rows])
    dearest = _dearest(carrying, catalogue)
    by_queue = {
        queue.locator.name: _team(queue, dearest, exposure) for queue in queues if queue.quotas
    }
    by_team = {
        team: _sum([(r.name, r.exposure, r.cause) for r in rows if r.team == team])
        for team in dict.fromkeys(row.team for row in rows if row.team)
    }
    return StackSpend(rows, standing, exposure, by_queue, by_team)


def _unused(
    reserved: Reservation,
    pools: list[NodePool],
    rows: tuple[PoolSpend, ...],
    catalogue: Catalogue,
) -> PoolSpend:
    """Cost of a reservation beyond the machines of the pools that use it."""
    name = str(reserved.locator)
    kind = reserved.instance_type
    row = catalogue.instances.get(kind.value) if kind.is_known else None
    price = None if row is None else way_price(row, "reserved")[1]
    if price is None or not reserved.count.is_known:
        return PoolSpend(name, None, None, "its price or count is not known", object=name)
    whole = price * reserved.count.value
    users = [
        found
        for pool, found in zip(pools, rows, strict=False)
        if set(pool.reservations) & set(reserved.names)
    ]
    standing = max(0, whole - sum(found.standing or 0 for found in users))
    exposure = max(0, whole - sum(found.exposure or 0 for found in users))
    return PoolSpend(name, standing, exposure, object=name)


TEAM_KEYS = ("gpufleet.dev/team", "team", "Team", "owner", "Owner")
"""Tags and labels of the owner of costs, the first existing one counts."""


def _pool(pool: NodePool, catalogue: Catalogue) -> PoolSpend:
    found = _computed(pool, catalogue)
    written = {**pool.annotations, **pool.tags}
    team = next((written[key] for key in TEAM_KEYS if written.get(key)), "")
    found = replace(found, object=str(pool.locator))
    return replace(found, team=pool.compiled.team if pool.compiled is not None else team)


def _computed(pool: NodePool, catalogue: Catalogue) -> PoolSpend:
    low = pool_price(pool, catalogue).low
    smallest = pool.size.standing
    standing = None
    if pool.compiled is not None:
        standing = pool.compiled.minimum_spend.found
    elif smallest.is_known:
        standing = 0 if smallest.value == 0 else None if low is None else smallest.value * low
    most = reach(pool, catalogue)
    if most is None:
        return PoolSpend(pool.name, standing, None, UNREADABLE)
    if most.gpus is None:
        return PoolSpend(pool.name, standing, None, most.because)
    if most.gpus == 0:
        return PoolSpend(pool.name, standing, 0)
    cost = most.micro_usd_per_hour
    cause = "" if cost is not None else f"no price is known for up to {int(most.gpus)} GPUs"
    return PoolSpend(pool.name, standing, cost, cause)


def _sum(parts: list[tuple[str, int | None, str]]) -> Bound:
    total = sum(amount for _, amount, _ in parts if amount is not None)
    return Bound(
        total, tuple(f"{name}: {cause}" for name, amount, cause in parts if amount is None)
    )


def _dearest(pools: list[NodePool], catalogue: Catalogue) -> Fraction | None:
    """The highest price of a GPU-hour among the pools; None where one is not priced."""
    found: list[Fraction] = []
    for pool in pools:
        high = pool_price(pool, catalogue).high
        if high is None or not pool.gpus_per_node.is_known or not pool.gpus_per_node.value:
            return None
        found.append(Fraction(high, pool.gpus_per_node.value))
    return max(found, default=None)


def _team(queue: ClusterQueue, dearest: Fraction | None, exposure: Bound) -> Bound:
    """Quota and borrowing limit at the most expensive GPU, at most the sum of all pools."""
    most = 0
    for quota in queue.quotas:
        if not quota.nominal.is_known or quota.borrowing_limit.is_unknown:
            return Bound(None, (f"{queue.locator.name}: its quota cannot be read",))
        borrowed = quota.borrowing_limit
        if queue.cohort.is_known and borrowed.is_absent:
            return Bound(
                exposure.micro_usd_per_hour if exposure.is_bounded else None,
                () if exposure.is_bounded else exposure.causes,
            )
        most += quota.nominal.value + (borrowed.found or 0)
    if dearest is None:
        return Bound(None, (f"{queue.locator.name}: no price is known for its GPUs",))
    cost = int(dearest * most)
    if exposure.is_bounded and exposure.micro_usd_per_hour is not None:
        cost = min(cost, exposure.micro_usd_per_hour)
    return Bound(cost)


def spend_as_dict(spend: StackSpend) -> dict[str, Any]:
    """The form every front prints: USD an hour as text, null and the causes where unbounded."""
    return {
        "standingUsdPerHour": _usd(spend.standing.micro_usd_per_hour),
        "reachableUsdPerHour": _usd(spend.exposure.micro_usd_per_hour)
        if spend.exposure.is_bounded
        else None,
        "unbounded": list(spend.exposure.causes),
        "notCounted": list(spend.standing.causes),
        "pools": [
            {
                "pool": pool.name,
                "team": pool.team or None,
                "standingUsdPerHour": _usd(pool.standing),
                "reachableUsdPerHour": _usd(pool.exposure),
                "unbounded": pool.cause or None,
            }
            for pool in spend.pools
        ],
        "queues": {name: _bound(bound) for name, bound in spend.queues.items()},
        "teams": {name: _bound(bound) for name, bound in spend.teams.items()},
    }


def _bound(bound: Bound) -> dict[str, Any]:
    amount = bound.micro_usd_per_hour if bound.is_bounded else None
    return {"reachableUsdPerHour": _usd(amount), "unbounded": list(bound.causes)}


def _usd(micro: int | None) -> str | None:
    return None if micro is None else format((Decimal(micro) / MICRO_USD).normalize(), "f")
