"""Pools of a fleet: nodes that stand without need, and the dearer way of buying them."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.catalogue import UnknownKeyError
from gpufleet_policies.facts import FleetFacts, PoolFacts
from gpufleet_policies.money import Kind, Money
from gpufleet_policies.money.amounts import usd_hour
from gpufleet_policies.money.prices import cloud_of
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.rule import Level, Violation, rule


def _standing(pool: PoolFacts, nodes: int) -> Money:
    price = None
    basis = f"{nodes} x {pool.machines[0] if pool.machines else pool.gpu}"
    if pool.hourly_micro_usd.is_known:
        price = Fraction(pool.hourly_micro_usd.value * nodes)
        basis += f" at {usd_hour(pool.hourly_micro_usd.value)} {pool.capacity[0]}"
    return Money(Kind.STANDING, price, nodes * pool.gpus_per_node * pool.gpu_fraction, basis)


def _is_large_notebook_pool(context: Context, pool: PoolFacts) -> bool:
    return (
        pool.intent == "interactive"
        and pool.gpus_per_node >= context.thresholds.large_node_gpus
        and pool.minimum_nodes > 0
        and not pool.is_committed
    )


@rule(
    "interactive-pool-holds-large-nodes",
    "Large on-demand nodes that stand day and night for people at notebooks.",
    subject=FleetFacts,
    dev=Level.ADVISORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    formula="standing = nodes.min x price of a node x 730 h",
    source="AWS EKS best practices, compute: scale from zero",
)
def interactive_large(context: Context, fleet: FleetFacts) -> Iterator[Violation]:
    """Eight GPUs and more of uncommitted capacity, minimum above zero, interactive intent."""
    for pool in fleet.pools:
        if not _is_large_notebook_pool(context, pool):
            continue
        alternative = f"write {pool.path}.nodes.min: 0, so that the first notebook brings the node"
        smaller = _smaller_machine(context, pool)
        if smaller:
            alternative += f"; or use {smaller}"
        yield Violation(
            where=f"{pool.path}.nodes.min of {pool.name}",
            found=f"{pool.minimum_nodes} node(s) with {pool.gpus_per_node} x {pool.gpu} stand for "
            f"interactive use, bought {pool.capacity[0]}",
            limit="large nodes for notebooks must be able to go to 0",
            alternative=alternative,
            money=_standing(pool, pool.minimum_nodes),
            evidence={"nodes.min": pool.minimum_nodes, "gpusPerNode": pool.gpus_per_node},
        )


def _smaller_machine(context: Context, pool: PoolFacts) -> str | None:
    """The same GPU on the smallest machine of the same cloud, when there is a smaller one."""
    cloud = cloud_of(pool, context.catalogue)
    if cloud is None:
        return None
    fewer = [
        (row.accelerator.count, row.on_demand.micro_usd_per_hour, row.name)
        for row in context.catalogue.instances_with_gpu(pool.gpu, cloud)
        if row.accelerator.count
        and row.accelerator.count < pool.gpus_per_node
        and row.on_demand.micro_usd_per_hour is not None
    ]
    if not fewer:
        return None
    count, price, name = min(fewer)
    return f"{name} ({count} x {pool.gpu}, {usd_hour(price or 0)})"


@rule(
    "nonprod-pool-minimum-above-zero",
    "GPU nodes that stand at night in an environment that is not production.",
    subject=FleetFacts,
    dev=Level.ADVISORY,
    prod=Level.ADVISORY,
    strict=Level.MANDATORY,
    formula="standing = nodes.min x price of a node x 730 h",
    source="AWS EKS best practices, cluster autoscaler: scaling from 0",
)
def nonprod_minimum(context: Context, fleet: FleetFacts) -> Iterator[Violation]:
    """Not for capacity that is paid for anyway, and not where the larger rule already fired."""
    if not context.is_nonproduction(fleet):
        return
    for pool in fleet.pools:
        if pool.minimum_nodes < 1 or pool.is_committed or _is_large_notebook_pool(context, pool):
            continue
        yield Violation(
            where=f"{pool.path}.nodes.min of {pool.name}",
            found=f"{pool.minimum_nodes} x {pool.gpu} node(s) never go, environment "
            f"{context.environment_of(fleet).value}",
            limit="pools outside production start from 0",
            alternative=f"write {pool.path}.nodes.min: 0",
            money=_standing(pool, pool.minimum_nodes),
            evidence={"nodes.min": pool.minimum_nodes},
        )


@rule(
    "gpu-pool-fixed-size",
    "A pool of uncommitted capacity that can neither grow nor shrink.",
    subject=FleetFacts,
    dev=Level.ADVISORY,
    prod=Level.ADVISORY,
    strict=Level.ADVISORY,
    formula="standing = nodes x price of a node x 730 h",
    source="AWS EKS best practices: static groups are for reserved capacity",
)
def fixed_size(context: Context, fleet: FleetFacts) -> Iterator[Violation]:
    """Left to the other rules where they already name the pool."""
    for pool in fleet.pools:
        fixed = pool.minimum_nodes == pool.maximum_nodes > 0
        if not fixed or pool.is_committed:
            continue
        if context.is_nonproduction(fleet) or _is_large_notebook_pool(context, pool):
            continue
        yield Violation(
            where=f"{pool.path}.nodes of {pool.name}",
            found=f"min = max = {pool.maximum_nodes}, bought {pool.capacity[0]}",
            limit="only reserved capacity should have a fixed size",
            alternative=f"write {pool.path}.nodes.min: 0, or declare the reservation that pays "
            "for it (`capacity: [{reserved: {id: ...}}]`)",
            money=_standing(pool, pool.minimum_nodes),
        )


@rule(
    "on-demand-for-interruptible",
    "Restartable work bought only at the on-demand price.",
    subject=FleetFacts,
    dev=Level.ADVISORY,
    prod=Level.ADVISORY,
    strict=Level.MANDATORY,
    formula="waste = expected nodes x (on-demand - spot price) x 730 h",
    source="AWS EKS best practices: Spot for interruptible work",
)
def on_demand_for_batch(context: Context, fleet: FleetFacts) -> Iterator[Violation]:
    """Pools with intent batch whose machine has a known spot price."""
    for pool in fleet.pools:
        if pool.intent != "batch" or set(pool.capacity) != {"onDemand"} or not pool.machines:
            continue
        try:
            row = context.catalogue.instance(pool.machines[0])
        except UnknownKeyError:
            continue
        # The dearer zone counts: a saving must not be promised that only one zone has.
        spot = row.spot.high_micro_usd_per_hour or row.spot.micro_usd_per_hour
        listed = row.on_demand.micro_usd_per_hour
        if spot is None or listed is None or spot >= listed or pool.expected_nodes < 1:
            continue
        saving = Fraction((listed - spot) * pool.expected_nodes)
        gpus = pool.expected_nodes * pool.gpus_per_node * pool.gpu_fraction
        yield Violation(
            where=f"{pool.path}.capacity of {pool.name}",
            found=f"intent batch, and only onDemand at {usd_hour(listed)}",
            limit=f"{row.name} sells as spot for at most {usd_hour(spot)}",
            alternative=f"write {pool.path}.capacity: [{{spot: {{}}}}, {{onDemand: {{}}}}]",
            money=Money(Kind.WASTE, saving, gpus, f"{pool.expected_nodes} expected node(s)"),
        )
