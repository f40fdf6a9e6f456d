"""Prices and largest sizes of pools: the cost of a node, and the most nodes.

Prices are those of `gpufleet.catalogue.instance`, for each machine and each way of buying that a
pool allows.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from gpufleet.catalogue import Catalogue, InstanceType
from gpufleet.catalogue.instance import PUBLISHED_WAYS, price_range
from gpufleet.cluster.pool import NodePool
from gpufleet.findings.money import usd_hour


@dataclass(frozen=True, slots=True)
class PoolPrice:
    """Micro-dollars one node costs an hour, with the type and way it is for."""

    low: int | None
    high: int | None
    """None: some type, or way of buying, has no known price."""
    basis: str

    @property
    def spelled(self) -> str:
        """The lowest price in words."""
        return "no price is known" if self.low is None else f"{self.basis} at {usd_hour(self.low)}"


UNPRICED = PoolPrice(None, None, "")


def priced_where_it_is(pool: NodePool, catalogue: Catalogue) -> Catalogue:
    """The catalogue with the prices of the pool's own region: what has none there is not known.

    Itself where the region is not known: its prices are those of the reference region.
    """
    return catalogue.in_region(pool.price_region, estimate=False)


def pool_price(pool: NodePool, catalogue: Catalogue) -> PoolPrice:
    """The price of one node: the cheapest and the most expensive machine type of the pool."""
    if pool.hourly_micro_usd.is_known:
        one = pool.hourly_micro_usd.value
        first = pool.instance_types.value[0] if pool.instance_types.is_known else pool.name
        return PoolPrice(one, one, first)
    if not pool.instance_types.is_known:
        return UNPRICED
    ways = pool.capacity.value if pool.capacity.is_known else frozenset({"onDemand"})
    return _price(pool.instance_types.value, ways, priced_where_it_is(pool, catalogue))


@lru_cache(maxsize=1024)
def _price(types: tuple[str, ...], ways: frozenset[str], catalogue: Catalogue) -> PoolPrice:
    place = "" if catalogue.region is None else f" in {catalogue.region}"
    lows: list[tuple[int, str]] = []
    highs: list[int] = []
    complete = True
    for name in types:
        row = catalogue.instances.get(name)
        for way in sorted(ways):
            low, high = (None, None) if row is None else way_price(row, way)
            if high is None:
                complete = False
            else:
                highs.append(high)
            cheapest = low if low is not None else high
            if cheapest is not None:
                lows.append((cheapest, f"{name} {way}{place}"))
    if not lows:
        return UNPRICED
    low, basis = min(lows)
    return PoolPrice(low, max(highs) if complete and highs else None, basis)


def way_price(row: InstanceType, way: str) -> tuple[int | None, int | None]:
    """Lowest and highest price of a machine for one way of buying; None where it is not known."""
    if way in PUBLISHED_WAYS:
        return price_range(row, way)
    one = row.price(way).micro_usd_per_hour
    return one, one


@dataclass(frozen=True, slots=True)
class LargestSize:
    """Maximum size of a pool."""

    gpus: Fraction | None
    """None: nothing bounds it."""
    micro_usd_per_hour: int | None
    """None: not bounded, or not priced."""
    because: str
    """The limit that decides, or the reason why there is none."""


def reach(pool: NodePool, catalogue: Catalogue) -> LargestSize | None:
    """Maximum size of a pool; None where the limits cannot be read."""
    if pool.compiled is not None:
        nodes = pool.compiled.maximum_nodes
        spend = pool.compiled.maximum_spend
        return LargestSize(
            nodes * pool.compiled.gpus_per_node * pool.compiled.gpu_fraction,
            spend.value if spend.is_known else None,
            f"nodes.max {nodes}",
        )
    if pool.karpenter is not None and not pool.karpenter.static:
        return _karpenter_reach(pool, catalogue)
    if pool.size.maximum.is_unknown:
        return None
    if pool.size.maximum.is_absent:
        return LargestSize(None, None, f"{pool.size.maximum_place or 'the maximum'} is not set")
    nodes = pool.size.maximum.value
    per_node = pool.gpus_per_node.value if pool.gpus_per_node.is_known else None
    high = pool_price(pool, catalogue).high
    return (
        LargestSize(
            Fraction(nodes * per_node),
            None if high is None else nodes * high,
            _largest(pool, nodes),
        )
        if per_node is not None
        else None
    )


def _largest(pool: NodePool, nodes: int) -> str:
    """The limit as it is written: GKE counts nodes of each zone."""
    zones = pool.size.zones
    if zones == 1:
        return f"{pool.size.maximum_place} {nodes}"
    return f"{pool.size.maximum_place} {nodes // zones} in each of {zones} zones"


def _karpenter_reach(pool: NodePool, catalogue: Catalogue) -> LargestSize | None:
    """The worst machine under all limits together. Limits in slices count as slices."""
    karpenter = pool.karpenter
    assert karpenter is not None
    if not karpenter.limits_known or any(limit.is_unknown for limit in karpenter.limits.values()):
        return None
    limits = {name: limit.value for name, limit in karpenter.limits.items() if limit.is_known}
    if not limits:
        return LargestSize(None, None, "spec.limits is not set")
    if not any(name in limits for name in _BOUNDING):
        return LargestSize(None, None, "spec.limits has no limit that bounds its GPUs")
    types = pool.instance_types.value if pool.instance_types.is_known else ()
    instances = priced_where_it_is(pool, catalogue).instances
    rows = [row for name in types if (row := instances.get(name)) is not None]
    ways = pool.capacity.value if pool.capacity.is_known else frozenset({"onDemand"})
    direct = limits.get(_GPUS)
    worst: list[tuple[Fraction, int | None, str]] = []
    for row in rows:
        found = _under(limits, row)
        if found is None:
            # The catalogue does not have its size: the limit still bounds it.
            if direct is None:
                return None
            worst.append((direct, None, f"spec.limits[{_GPUS}]"))
            continue
        nodes, because = found
        prices = [way_price(row, way)[1] for way in ways]
        known = [price for price in prices if price is not None]
        highest = max(known) if known and len(known) == len(prices) else None
        cost = None if highest is None else nodes * highest
        worst.append((Fraction(nodes * (row.accelerator.count or 0)), cost, because))
    if not worst:
        return None if direct is None else LargestSize(direct, None, f"spec.limits[{_GPUS}]")
    gpus, _, because = max(worst, key=lambda one: one[0])
    costs = [cost for _, cost, _ in worst]
    return LargestSize(
        gpus, None if None in costs else max(c for c in costs if c is not None), because
    )


_GPUS = "nvidia.com/gpu"
_BOUNDING = ("nodes", "cpu", "memory", _GPUS)
"""Limits that bound the number of nodes, and so the GPUs, of every machine type."""


def _under(limits: dict[str, Fraction], row: InstanceType) -> tuple[int, str] | None:
    """Nodes of one type that fit under all limits; None where the catalogue lacks its sizes."""
    sizes = {
        "nodes": 1,
        "cpu": row.vcpu,
        "memory": row.memory_bytes,
        _GPUS: row.accelerator.count,
    }
    found = [
        (int(limit // size), f"spec.limits[{name}]")
        for name, limit in limits.items()
        if (size := sizes.get(name))
    ]
    return min(found, default=None)
