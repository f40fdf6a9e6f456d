"""Cost of everything declared together: smallest and largest, by pool.

Workloads are no part of it: they run on the pools, and would be counted twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.capacity import Reservation
from gpufleet.cluster.pool import NodePool
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
    object: str = ""
    """The object that declares it, as messages name it; a fleet declares several pools."""


@dataclass(frozen=True, slots=True)
class StackSpend:
    """Everything declared together."""

    pools: tuple[PoolSpend, ...]
    standing: Bound
    exposure: Bound


def stack_spend(
    pools: Iterable[NodePool], catalogue: Catalogue, reservations: Iterable[Reservation] = ()
) -> StackSpend:
    """Exact sums over the pools that have GPUs.

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
    return StackSpend(rows, standing, exposure)


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


def _pool(pool: NodePool, catalogue: Catalogue) -> PoolSpend:
    low = pool_price(pool, catalogue).low
    smallest = pool.size.standing
    standing = None
    if pool.compiled is not None:
        standing = pool.compiled.minimum_spend.found
    elif smallest.is_known:
        standing = 0 if smallest.value == 0 else None if low is None else smallest.value * low
    most, exposure, cause = reach(pool, catalogue), None, UNREADABLE
    if most is not None and most.gpus is None:
        cause = most.because
    elif most is not None:
        exposure = most.micro_usd_per_hour if most.gpus else 0
        unpriced = f"no price is known for up to {int(most.gpus or 0)} GPUs"
        cause = unpriced if exposure is None else ""
    return PoolSpend(pool.name, standing, exposure, cause, str(pool.locator))


def _sum(parts: list[tuple[str, int | None, str]]) -> Bound:
    total = sum(amount for _, amount, _ in parts if amount is not None)
    return Bound(
        total, tuple(f"{name}: {cause}" for name, amount, cause in parts if amount is None)
    )


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
                "standingUsdPerHour": _usd(pool.standing),
                "reachableUsdPerHour": _usd(pool.exposure),
                "unbounded": pool.cause or None,
            }
            for pool in spend.pools
        ],
    }


def _usd(micro: int | None) -> str | None:
    return None if micro is None else format((Decimal(micro) / MICRO_USD).normalize(), "f")
