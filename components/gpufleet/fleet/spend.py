"""Spend bounds and the budget: the only place where nodes are multiplied by prices."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from gpufleet.catalogue import MICRO_USD
from gpufleet.catalogue.instance import planned_price, price_range
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Machine, Money, NodeRange, Pool, SpendBounds, Unbounded
from gpufleet.spec.capacity import Capacity, Spot
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)


def micro(usd: str) -> int:
    """Micro-dollars of a price written in dollars with at most six decimals."""
    return int(Decimal(usd) * MICRO_USD)


def node_prices(machine: Machine, capacity: Capacity) -> tuple[int | None, int | None]:
    """Lowest and highest hourly cost of one node in micro-dollars, with the fee of its provisioner
    if that is known; None if not known."""
    low, high = _prices(machine, capacity)
    fee = machine.fee_micro_usd or 0
    return None if low is None else low + fee, None if high is None else high + fee


def _prices(machine: Machine, capacity: Capacity) -> tuple[int | None, int | None]:
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
    if capacity.spot is not None:
        return price_range(row, "spot", _cap(capacity.spot))
    if capacity.flex_start is not None or capacity.queued is not None:
        return price_range(row, capacity.mode)
    return price_range(row, "onDemand")


def _cap(spot: Spot) -> int | None:
    cap = spot.max_price_usd_per_hour
    return None if cap is None else micro(cap)


def first_choice(machines: Sequence[Machine], capacity: Sequence[Capacity]) -> int | None:
    """Planned hourly cost of one node at the pool's preferred capacity type."""
    wanted, row = capacity[0], machines[0].instance
    if wanted.spot is not None and row is not None:
        spot = planned_price(row, "spot", _cap(wanted.spot))
        return None if spot is None else spot + (machines[0].fee_micro_usd or 0)
    low, high = node_prices(machines[0], wanted)
    return low if low is not None else high


def pool_spend(
    name: str,
    machines: Sequence[Machine],
    capacity: Sequence[Capacity],
    nodes: NodeRange,
    *,
    separately: bool = False,
) -> SpendBounds:
    """Bounds of one pool's spend per hour.

    `separately`: each capacity type is a separate node pool that may reach the pool's largest size
    (GKE); all of them may reach it together. Without an open capacity type the pool has no nodes
    and no cost.
    """
    if not capacity:
        return SpendBounds(0, 0, 0)
    lows: list[int] = []
    highs: list[int] = []
    causes: dict[str, None] = {}
    for machine in machines:
        for entry in capacity:
            low, high = node_prices(machine, entry)
            if high is None:
                lack = "no price is known for" if low is None else "nothing bounds the price of"
                causes[f"{name}: {lack} {machine.name} as {entry.mode}"] = None
            else:
                highs.append(high)
                lows.append(low if low is not None else high)
    unknown = Unbounded(tuple(causes))
    dearest = sum(highs) if separately else max(highs, default=0)
    first = first_choice(machines, capacity)
    return SpendBounds(
        minimum=_times(nodes.minimum, unknown if causes else min(lows)),
        expected=_times(nodes.expected, unknown if first is None else first),
        maximum=_times(nodes.maximum, unknown if causes else dearest),
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


def validate_budget(
    spec: FleetSpec, pools: Sequence[Pool], bounds: SpendBounds
) -> Iterator[Finding]:
    """Whether the fleet's maximum spend is within its budget, if it has one."""
    if spec.budget is None:
        return
    budget = spec.budget.usd_per_hour
    if isinstance(bounds.maximum, Unbounded):
        causes = bounds.maximum.causes
        why = "; ".join(causes)
        yield _finding("spend-unbounded", budget=budget, why=why, causes=causes)
        return
    limit = micro(str(budget))
    if bounds.maximum <= limit:
        return
    over = bounds.usd(bounds.maximum)
    yield _finding(
        "budget-exceeded",
        fix=(_within_budget(pools, bounds.maximum - limit)),
        over=over,
        budget=budget,
        maximum=str(over),
        limit=str(budget),
    )


def _within_budget(pools: Sequence[Pool], excess: int) -> str:
    """The change of one pool, the most expensive, that would fix it; or advice where to reduce."""
    priced = [(p.spend.maximum, p) for p in pools if not isinstance(p.spend.maximum, Unbounded)]
    most, dearest = max(priced, key=lambda entry: entry[0])
    nodes = dearest.nodes
    fewer = nodes.maximum - -(-excess * nodes.maximum // most)
    if fewer >= max(1, nodes.minimum):
        return f"write {dearest.path}.nodes.max: {fewer} ({dearest.name}), or raise the budget"
    one = sum(price // p.nodes.maximum * max(1, p.nodes.minimum) for price, p in priced)
    cost, least = Decimal(most) / MICRO_USD, Decimal(one) / MICRO_USD
    return (
        f"{dearest.name} costs most, up to {cost} USD/h; shrink pools, or write {least} or more, "
        "the minimum with nodes of each pool"
    )
