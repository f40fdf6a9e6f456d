"""Pools of a fleet: its spend, nodes that run without need, expensive ways of buying them."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from gpufleet.cluster import FleetFacts
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import MICRO_USD, AmountKind, Money, usd_hour
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import way_price
from gpufleet_policies.rules.pool_money import nodes_money, setting
from gpufleet_policies.rules.pools import POOLS, expires, gpu_pools, place
from gpufleet_policies.rules.written import written_rule


@written_rule("gpu-spend-unbounded", FleetFacts)
def spend_unbounded(context: RuleContext, fleet: FleetFacts) -> Iterator[Finding]:
    """One violation per fleet, naming every cause."""
    if not fleet.unbounded or not fleet.maximum_spend.is_absent:
        return
    unpriced = [pool for pool in fleet.pools if pool.maximum_spend.is_absent]
    gpus = sum(pool.maximum_nodes * pool.gpus_per_node * pool.gpu_fraction for pool in unpriced)
    yield spend_unbounded.say(
        ", ".join(f"{pool.path} ({pool.name})" for pool in unpriced),
        reasons="; ".join(fleet.unbounded),
        causes=list(fleet.unbounded),
        money=Money(AmountKind.EXPOSURE, None, Fraction(gpus), "unpriced pools at nodes.max"),
    )


@written_rule("gpu-budget-missing", FleetFacts)
def budget_missing(context: RuleContext, fleet: FleetFacts) -> Iterator[Finding]:
    """Neither the spec nor `budgets` of the project's policy settings name a limit."""
    if not fleet.budget_micro_usd.is_absent or context.thresholds.budgets:
        return
    found, money, suggestion = "no budget is set", None, "..."
    if fleet.maximum_spend.is_known:
        spend = fleet.maximum_spend.value
        found = f"no budget is set, and the fleet can cost {usd_hour(spend)}"
        gpus = sum(p.maximum_nodes * p.gpus_per_node * p.gpu_fraction for p in fleet.pools)
        most = "all pools at nodes.max"
        money = Money(AmountKind.EXPOSURE, Fraction(spend), Fraction(gpus), most)
        suggestion = str(-(-spend // MICRO_USD))
    yield budget_missing.say(found=found, suggestion=suggestion, money=money)


def _is_large_notebook_pool(context: RuleContext, pool: NodePool) -> bool:
    return (
        pool.intent.found == "interactive"
        and pool.gpus_per_node.is_known
        and pool.gpus_per_node.value >= context.thresholds.large_node_gpus
        and (pool.size.standing.found or 0) > 0
        and not pool.is_committed
    )


def _bought(pool: NodePool) -> str:
    if pool.compiled is not None and pool.compiled.capacity:
        return pool.compiled.capacity[0]
    return " or ".join(sorted(pool.capacity.found or {"onDemand"}))


def _gpu(pool: NodePool) -> str:
    return pool.gpu.value if pool.gpu.is_known else "GPU"


def _smaller_minimum(pool: NodePool) -> str:
    if pool.size.fixed and pool.maker is not Maker.FLEET:
        return f"let an autoscaler set the size, from 0 up, instead of {pool.size.minimum_place}"
    return f"write {pool.size.minimum_place}: 0"


@written_rule("interactive-pool-holds-large-nodes", POOLS)
def interactive_large(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """Eight GPUs and more of uncommitted capacity, minimum above zero, interactive intent."""
    for pool in gpu_pools(context, subject):
        if not _is_large_notebook_pool(context, pool):
            continue
        yield interactive_large.say(
            place(pool, pool.size.minimum_place),
            pool=pool,
            gpu=_gpu(pool),
            bought=_bought(pool),
            alternative=f"{_smaller_minimum(pool)}, so that the first notebook brings the node",
            money=nodes_money(context, pool, pool.size.standing.value, AmountKind.STANDING),
        )


@written_rule("nonprod-pool-minimum-above-zero", POOLS)
def nonprod_minimum(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """Excluded: capacity that is already paid for, pools with a finding of the larger rule, and
    pools that an expiry tag or a schedule ends.

    With `standingUsdPerMonth` among the thresholds, a smaller cost is ignored.
    """
    if not context.is_nonproduction(subject):
        return
    for pool in gpu_pools(context, subject):
        standing = pool.size.standing
        if not standing.is_known or standing.value < 1:
            continue
        if pool.is_committed or _is_large_notebook_pool(context, pool):
            continue
        if expires(context, pool):
            continue
        money = nodes_money(context, pool, standing.value, AmountKind.STANDING)
        allowed = context.thresholds.standing_usd_per_month
        if allowed is not None and (money.usd_per_month or 0) <= allowed:
            continue
        yield nonprod_minimum.say(
            place(pool, pool.size.minimum_place),
            standing=standing,
            gpu=_gpu(pool),
            environment=context.environment_of(subject).value,
            alternative=_smaller_minimum(pool),
            money=money,
            remediation=() if pool.size.fixed else _zero(pool),
        )


def _zero(pool: NodePool) -> tuple[Mapping[str, object], ...]:
    if pool.maker in (Maker.EKS, Maker.GKE, Maker.AWS):
        return setting(pool, 0, pool.size.minimum_place)
    return ()


@written_rule("gpu-pool-fixed-size", POOLS)
def fixed_size(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """Left to the other rules where they already name the pool. Karpenter's static pools count."""
    for pool in gpu_pools(context, subject):
        # Flex start and queued capacity is for one run: its size is not a decision to keep.
        for_one_run = (pool.capacity.found or {"queued"}) & {"flexStart", "queued"}
        if not _is_fixed(pool) or pool.is_committed or for_one_run:
            continue
        if context.is_nonproduction(subject) or _is_large_notebook_pool(context, pool):
            continue
        nodes = pool.size.standing.value
        found = f"min = max = {nodes}, bought {_bought(pool)}"
        alternative = f"{_smaller_minimum(pool)}, or declare the reservation that pays for it" + (
            " (`capacity: [{reserved: {id: ...}}]`)" if pool.maker is Maker.FLEET else ""
        )
        where = (
            f"{pool.compiled.path}.nodes of {pool.name}"
            if pool.compiled is not None
            else pool.size.minimum_place
        )
        yield fixed_size.say(
            where,
            found=found,
            nodes=nodes,
            alternative=alternative,
            money=nodes_money(context, pool, nodes, AmountKind.STANDING),
        )


def _is_fixed(pool: NodePool) -> bool:
    standing = pool.size.standing.found or 0
    return standing >= 1 and (pool.size.fixed or pool.size.maximum.found == standing)


@written_rule("on-demand-for-interruptible", POOLS)
def on_demand_for_batch(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """Pools with intent batch whose machine has a known spot price.

    `interruptible-work-on-demand` covers workloads that declare their mode.
    """
    for pool in gpu_pools(context, subject):
        if not pool.intent.is_known or pool.intent.value != "batch":
            continue
        if not pool.capacity.is_known or pool.capacity.value != frozenset({"onDemand"}):
            continue
        found = spot_saving(context, pool)
        nodes = pool.size.current if pool.size.current.is_known else pool.size.standing
        if found is None or not nodes.is_known or nodes.value < 1:
            continue
        name, listed, spot = found
        count = nodes.value
        gpus = nodes_money(context, pool, count, AmountKind.WASTE).gpus
        yield on_demand_for_batch.say(
            place(pool, pool.capacity_place),
            listed=usd_hour(listed),
            name=name,
            spot=usd_hour(spot),
            alternative=f"write {pool.capacity_place}: [{{spot: {{}}}}, {{onDemand: {{}}}}]"
            if pool.maker is Maker.FLEET
            else f"allow spot in {pool.capacity_place} of a pool for restartable work",
            money=Money(
                AmountKind.WASTE,
                Fraction((listed - spot) * count),
                gpus,
                f"{count} expected node(s)",
            ),
        )


def spot_saving(context: RuleContext, pool: NodePool) -> tuple[str, int, int] | None:
    """Machine, list price and highest spot price, where spot is known to be cheaper.

    The most expensive zone counts: a saving that only one zone has is not promised.
    """
    if not pool.instance_types.is_known:
        return None
    row = context.catalogue.instances.get(pool.instance_types.value[0])
    if row is None:
        return None
    spot = row.spot.high_micro_usd_per_hour or row.spot.micro_usd_per_hour
    listed = way_price(row, "onDemand")[1]
    if spot is None or listed is None or spot >= listed:
        return None
    return row.name, listed, spot
