"""Spend bounds: the only place where nodes are multiplied by prices."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from gpufleet.catalogue.model import MICRO_USD, InstanceType
from gpufleet.fleet.model import Machine, Money, NodeRange, SpendBounds, Unbounded
from gpufleet.spec.capacity import Capacity


def micro(usd: str) -> int:
    """Micro-dollars of a price written in dollars with at most six decimals."""
    return int(Decimal(usd) * MICRO_USD)


def node_prices(machine: Machine, capacity: Capacity) -> tuple[int | None, int | None]:
    """Lowest and highest micro-dollars one node can cost an hour; None where nobody knows."""
    row = machine.instance
    if capacity.on_prem is not None:
        per_gpu = capacity.on_prem.usd_per_gpu_hour
        price = None if per_gpu is None else micro(per_gpu) * machine.gpus
        return price, price
    if capacity.capacity_block is not None:
        paid = capacity.capacity_block.usd_per_hour
        price = None if paid is None else micro(paid)
        return price, price
    if row is None:
        return None, None
    listed = row.on_demand.micro_usd_per_hour
    if capacity.spot is not None:
        return _spot(row, capacity.spot.max_price_usd_per_hour)
    if capacity.flex_start is not None or capacity.queued is not None:
        # Sold below the list price by a discount no public list carries: the list price bounds it.
        return None, listed
    return listed, listed


def _spot(row: InstanceType, cap: str | None) -> tuple[int | None, int | None]:
    """Spot moves between its lowest published price and the cap, by default the list price."""
    low = row.spot.micro_usd_per_hour
    high = micro(cap) if cap is not None else row.on_demand.micro_usd_per_hour
    if high is None:
        high = row.spot.high_micro_usd_per_hour
    if low is not None and high is not None:
        low = min(low, high)
    return low, high


def first_choice(machines: Sequence[Machine], capacity: Sequence[Capacity]) -> int | None:
    """What one node costs an hour as the pool would like to buy it."""
    low, high = node_prices(machines[0], capacity[0])
    return low if low is not None else high


def pool_spend(
    name: str, machines: Sequence[Machine], capacity: Sequence[Capacity], nodes: NodeRange
) -> SpendBounds:
    """Bounds of one pool's spend per hour."""
    lows: list[int] = []
    highs: list[int] = []
    causes: dict[str, None] = {}
    for machine in machines:
        for entry in capacity:
            low, high = node_prices(machine, entry)
            if high is None:
                causes[f"{name}: no price is known for {machine.name} as {entry.mode}"] = None
            else:
                highs.append(high)
                lows.append(low if low is not None else high)
    unknown = Unbounded(tuple(causes))
    first = first_choice(machines, capacity)
    return SpendBounds(
        minimum=_times(nodes.minimum, unknown if causes else min(lows)),
        expected=_times(nodes.expected, unknown if first is None else first),
        maximum=_times(nodes.maximum, unknown if causes else max(highs)),
    )


def _times(nodes: int, price: Money) -> Money:
    if nodes == 0:
        return 0
    return price if isinstance(price, Unbounded) else nodes * price


def total(bounds: Iterable[SpendBounds]) -> SpendBounds:
    """The fleet's bounds: exact sums; one unbounded pool makes the sum unbounded."""
    parts = list(bounds)
    return SpendBounds(
        _sum([part.minimum for part in parts]),
        _sum([part.expected for part in parts]),
        _sum([part.maximum for part in parts]),
    )


def _sum(parts: Sequence[Money]) -> Money:
    causes = [cause for part in parts if isinstance(part, Unbounded) for cause in part.causes]
    if causes:
        return Unbounded(tuple(dict.fromkeys(causes)))
    return sum(part for part in parts if not isinstance(part, Unbounded))
