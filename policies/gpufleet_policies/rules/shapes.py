"""Machines that pods may run on: their GPUs, CPUs, memory and price.

The pools of the fleet, else a required instance type, else pools declared with the workload.
If one candidate is unknown, the result is unknown: a verdict must hold on each of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from gpufleet.catalogue import Catalogue
from gpufleet.cluster import PodGroup
from gpufleet.cluster.fact import NOTHING
from gpufleet.cluster.node import ObservedNode
from gpufleet.cluster.pool import NodePool
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.money.pools import priced_where_it_is, way_price
from gpufleet_policies.rules.placement import INSTANCE_TYPE_LABELS, pools_for, possible_pools

MEMORY_LEFT = Decimal("0.97")
"""Part of a machine's memory that pods can request at the most; the rest is firmware, kernel and
kubelet. Own estimate, on the generous side."""

_RESERVED = ((1, Decimal("0.06")), (1, Decimal("0.01")), (2, Decimal("0.005")))
"""Cores kubelet keeps on EKS and GKE: 6 % of the first, 1 % of the second, 0.5 % of the next two
and 0.25 % of the others (Google's page on node sizes and the AMI's bootstrap, 2026-11)."""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """One machine type a pod may land on."""

    name: str
    gpu: str
    gpus: int
    cores: Decimal | None
    """That pods can request."""
    memory_bytes: Decimal | None
    """That pods can request."""
    micro_usd_per_hour: Fraction | None
    pool: str
    """Name of its pool; empty: known by a label or a node only."""
    node: str = ""
    """Name of the node, for a shape from a dump; else empty."""

    @property
    def micro_usd_per_gpu_hour(self) -> Fraction | None:
        """The whole node booked on its GPUs."""
        return None if self.micro_usd_per_hour is None else self.micro_usd_per_hour / self.gpus

    @property
    def priced(self) -> str:
        """Name and pool in words."""
        place = (
            f" of pool {self.pool}" if self.pool else f" (node {self.node})" if self.node else ""
        )
        return f"{self.name}{place}"


def shapes(context: RuleContext, group: PodGroup, resource: str) -> tuple[NodeShape, ...]:
    """Every machine the pods may land on; empty where one of them is not known."""
    for label in INSTANCE_TYPE_LABELS if context.fleet is None else ():
        types = group.node_labels.get(label)
        if types:
            return _all([_named(name, context.catalogue, "", None) for name in sorted(types)])
    return _of_pools(context, *possible_pools(context, group, resource))


@once
def _of_pools(context: RuleContext, *pools: NodePool) -> tuple[NodeShape, ...]:
    """Computed once for all pods that may land on the same pools: those can name many machines."""
    return _all(
        _named(name, priced_where_it_is(pool, context.catalogue), pool.name, _paid(pool))
        for pool in pools
        for name in (pool.instance_types.value if pool.instance_types.is_known else ("",))
    )


def _paid(pool: NodePool) -> Fraction | None:
    """The price of a node that a fleet states."""
    price = pool.hourly_micro_usd if pool.compiled is not None else NOTHING
    return Fraction(price.value) if price.is_known else None


def offers(context: RuleContext, group: PodGroup, resource: str) -> tuple[NodeShape, ...]:
    """Priced machines of this run that the pods may land on, the cheapest GPU-hour first: of the
    pools that may take them, whatever else those may use, and nodes that carry their labels."""
    found = [
        *priced_pools(context, *pools_for(context, group)),
        *(
            shape
            for one, shape in _priced_nodes(context)
            if resource in one.gpus
            and all(one.labels.get(key) in values for key, values in group.node_labels.items())
        ),
    ]
    return tuple(sorted(found, key=lambda one: (one.micro_usd_per_gpu_hour or 0, one.name)))


@once
def priced_pools(context: RuleContext, *pools: NodePool) -> tuple[NodeShape, ...]:
    """The machines of some pools that have a price, each at the cheapest way to buy it."""
    found: list[NodeShape] = []
    for pool in pools:
        catalogue = priced_where_it_is(pool, context.catalogue)
        ways = pool.capacity.value if pool.capacity.is_known else frozenset({"onDemand"})
        for name in pool.instance_types.value if pool.instance_types.is_known else ():
            found += _priced(name, catalogue, pool.name, ways)
    return tuple(found)


@once
def _priced_nodes(context: RuleContext) -> tuple[tuple[ObservedNode, NodeShape], ...]:
    found: list[tuple[ObservedNode, NodeShape]] = []
    for one in context.declared(ObservedNode):
        catalogue = context.catalogue.in_region(one.region.found, estimate=False)
        ways = frozenset({"spot" if one.spot else "onDemand"})
        name = one.instance_type.found or ""
        found += [
            (one, replace(shape, node=one.locator.name))
            for shape in _priced(name, catalogue, "", ways)
        ]
    return tuple(found)


def _priced(
    name: str, catalogue: Catalogue, pool: str, ways: frozenset[str]
) -> Iterator[NodeShape]:
    """A machine with the lowest price of the ways it may be bought; none without a price."""
    row = catalogue.instances.get(name)
    if row is None:
        return
    prices = [price for way in ways for price in way_price(row, way) if price is not None]
    if prices:
        shape = _named(name, catalogue, pool, Fraction(min(prices)))
        if shape is not None:
            yield shape


def _all(found: Iterable[NodeShape | None]) -> tuple[NodeShape, ...]:
    known = tuple(found)
    return () if None in known else tuple(dict.fromkeys(s for s in known if s is not None))


def _named(name: str, catalogue: Catalogue, pool: str, paid: Fraction | None) -> NodeShape | None:
    row = catalogue.instances.get(name)
    if row is None or not row.accelerator.count or row.accelerator.fraction != 1:
        return None
    price = row.on_demand.micro_usd_per_hour
    return NodeShape(
        name=name,
        gpu=row.accelerator.gpu,
        gpus=row.accelerator.count,
        cores=None if row.vcpu is None or row.attachable else cores_left(row.vcpu),
        memory_bytes=None
        if row.memory_bytes is None or row.attachable
        else row.memory_bytes * MEMORY_LEFT,
        micro_usd_per_hour=paid if paid is not None else None if price is None else Fraction(price),
        pool=pool,
    )


def cores_left(vcpu: int) -> Decimal:
    """Cores that pods can request on a node with this number."""
    left, rest = Decimal(vcpu), vcpu
    for cores, part in _RESERVED:
        taken = min(cores, rest)
        left -= taken * part
        rest -= taken
    return left - rest * Decimal("0.0025")
