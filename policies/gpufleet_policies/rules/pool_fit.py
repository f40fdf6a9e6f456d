"""Workloads and their pools: the wrong way of buying, or the most expensive GPU."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import PodGroup, Provenance, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money, usd_hour
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import pool_price
from gpufleet_policies.rules.fleet_pools import spot_saving
from gpufleet_policies.rules.gpu_groups import gpu_groups
from gpufleet_policies.rules.placement import place_of, pools_for
from gpufleet_policies.rules.pools import same_cluster
from gpufleet_policies.rules.published import published
from gpufleet_policies.rules.purpose import is_training, saves_checkpoints
from gpufleet_policies.rules.written import written_rule


def _interruptible(workload: WorkloadFacts) -> Provenance | None:
    """Evidence that work may be interrupted; None: no evidence."""
    intent = workload.intent
    if intent.interruptible.is_known:
        return intent.interruptible.provenance if intent.interruptible.value else None
    if intent.mode.found == "batch":
        return intent.mode.provenance
    if is_training(workload) and saves_checkpoints(workload):
        return Provenance.DECLARED
    return None


@written_rule("interruptible-work-on-demand")
def interruptible(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Mode batch, training that saves checkpoints, or `interruptible: true`; on one node.

    Every pool it may run on is known and buys on demand only. Reservations, capacity blocks, flex
    start and queued provisioning are right and never fire.
    """
    evidence = _interruptible(workload)
    if evidence is None:
        return
    for group, asked, pods in gpu_groups(workload):
        if group.together.is_known and group.together.value > 1 and workload.starts_together:
            continue
        pools = [pool for pool in pools_for(context, group) if pool.maker is not Maker.FLEET]
        if not pools or not all(_only_on_demand(pool) for pool in pools):
            continue
        savings = [found for pool in pools if (found := spot_saving(context, pool)) is not None]
        if len(savings) < len(pools):
            continue
        name, listed, spot = min(savings, key=lambda one: one[1] - one[2])
        per_node = max(
            (p.gpus_per_node.value for p in pools if p.gpus_per_node.is_known), default=1
        )
        gpu_hour = Fraction(listed - spot, per_node)
        yield interruptible.say(
            group.where,
            names=", ".join(pool.name for pool in pools),
            name=name,
            listed=usd_hour(listed),
            spot=usd_hour(spot),
            alternative=_spot_pool(pools[0]),
            money=Money(
                AmountKind.WASTE,
                gpu_hour * asked * pods,
                Fraction(asked * pods),
                f"{pods} pod(s) x {asked} GPU(s)",
                all_month=not workload.runs_to_completion,
            ),
            provenance=evidence,
        )


def _only_on_demand(pool: NodePool) -> bool:
    return (
        pool.capacity.is_known
        and pool.capacity.value == frozenset({"onDemand"})
        and not pool.is_committed
    )


def _spot_pool(pool: NodePool) -> str:
    if pool.maker is Maker.KARPENTER:
        return "add spot to the pool's karpenter.sh/capacity-type values"
    return "add a pool that buys spot (changing this one would replace its nodes)"


@written_rule("spot-for-tightly-coupled-training")
def spot_for_training(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """All pools it may run on buy spot only. `gpufleet.dev/checkpoint-seconds` settles it.

    Or a Job without retries and without a policy for failures: an interruption is one.
    """
    once = workload.locator.kind == "Job" and workload.job and workload.job.retries.found == 0
    if (not once and not is_training(workload)) or saves_checkpoints(workload):
        return
    for group, asked, pods in gpu_groups(workload):
        if pods < 2 and not once:
            continue
        pools = pools_for(context, group)
        if not pools or not all(p.capacity.found == frozenset({"spot"}) for p in pools):
            continue
        names = ", ".join(pool.name for pool in pools)
        what = "runs" if once else f"{pods} pods of {asked} GPU(s) train together"
        lacks = "with backoffLimit 0" if once else "and no checkpoint is declared"
        yield spot_for_training.say(group.where, what=what, names=names, lacks=lacks)


def _gpu_hours(context: RuleContext, pools: tuple[NodePool, ...]) -> list[Fraction]:
    found: list[Fraction] = []
    for pool in pools:
        price = pool_price(pool, context.catalogue).low
        if price is not None and pool.gpus_per_node.is_known and pool.gpus_per_node.value:
            found.append(Fraction(price, pool.gpus_per_node.value))
    return found


def _choices(
    context: RuleContext, group: PodGroup
) -> tuple[frozenset[str], list[tuple[Fraction, str]]]:
    """GPUs that pods without any required label may land on, and their prices, cheapest first."""
    key = ("choices", place_of(group))
    found = context.memo.get(key)
    if found is None:
        pools = [
            pool
            for pool in pools_for(context, group)
            if pool.is_certainly_gpu and pool.gpu.is_known and _has_whole_gpus(context, pool)
        ]
        if not same_cluster(*pools):
            pools = []  # the pods run in one of several clusters, and it is unknown in which
        prices = {(price[0], p.gpu.value) for p in pools if (price := _gpu_hours(context, (p,)))}
        models = frozenset(pool.gpu.value for pool in pools)
        found = context.memo[key] = (models, sorted(prices))
    return found


def _has_whole_gpus(context: RuleContext, pool: NodePool) -> bool:
    """Whether it certainly publishes whole GPUs under their usual name."""
    offer = published(context, pool)
    return offer is not None and offer.replicas.get(GPU) == 1


@written_rule("gpu-type-pinned-by-nothing")
def unpinned(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """No required label at all, and pools with different GPUs certainly take the pods.

    Silent with MIG or shared names, which belong to one pool, and where prices are not known.
    """
    for group, asked, pods in gpu_groups(workload):
        if group.node_labels or not group.node_labels_known:
            continue
        models, prices = _choices(context, group)
        if len(models) < 2 or len(prices) < 2 or prices[0][0] >= prices[-1][0]:
            continue
        cheapest, dearest = prices[0], prices[-1]
        yield unpinned.say(
            group.where,
            asked=asked,
            models=", ".join(sorted(models)),
            dearest=dearest,
            high=usd_hour(dearest[0]),
            cheapest=cheapest,
            low=usd_hour(cheapest[0]),
            money=Money(
                AmountKind.WASTE,
                (dearest[0] - cheapest[0]) * asked * pods,
                Fraction(asked * pods),
                f"{pods} pod(s) x {asked} GPU(s) on {dearest[1]} instead of {cheapest[1]}",
                all_month=not workload.runs_to_completion,
            ),
        )


_WHOLE_NODE = 4
"""GPUs per node from which a training pod that takes them all spans nodes for speed."""

_EFA = "vpc.amazonaws.com/efa"


@written_rule("multi-zone-training-group")
def multi_zone(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """A pool it is pinned to spans zones and nothing keeps the pods in one.

    Zone selectors, affinity on the zone, Kueue's required topology, placement policies and
    reservations, which have one zone, all settle it.
    """
    if not is_training(workload):
        return
    for group, asked, pods in gpu_groups(workload):
        if pods < 2 or group.zone_bound:
            continue
        pools = pools_for(context, group)
        spread = [pool for pool in pools if _spans_zones(pool)]
        if not pools or len(spread) < len(pools):
            continue
        zones = spread[0].zones.value if spread[0].zones.is_known else ()
        yield multi_zone.say(
            group.where, pods=pods, asked=asked, spread=spread, zones=len(zones) or "all"
        )


def _spans_zones(pool: NodePool) -> bool:
    """Whether its nodes certainly come up in several zones."""
    grouped = not pool.placement_group.is_absent and pool.maker is not Maker.KARPENTER
    if pool.reservations or grouped:
        return False
    return pool.zones.is_known and len(set(pool.zones.value)) > 1


@written_rule("multi-node-without-fabric")
def without_fabric(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Two and more pods that take all of four or more GPUs of machines that offer EFA or GPUDirect.

    Either the pods do not request it, or the pool does not have it.
    """
    if not is_training(workload):
        return
    for group, asked, pods in gpu_groups(workload):
        if pods < 2 or asked < _WHOLE_NODE:
            continue
        for pool in pools_for(context, group):
            missing = _missing_fabric(context, pool, group, asked)
            if missing is None:
                continue
            yield without_fabric.say(
                group.where,
                pods=pods,
                asked=asked,
                pool=pool,
                missing=missing,
                alternative="request vpc.amazonaws.com/efa in the pods, and give the pool EFA "
                "interfaces and a placement group"
                if missing.endswith("EFA") or _EFA in missing
                else "give pool and pods the GPUDirect networks",
            )
            break


def _missing_fabric(
    context: RuleContext, pool: NodePool, group: PodGroup, asked: int
) -> str | None:
    if not pool.gpus_per_node.is_known or pool.gpus_per_node.value != asked:
        return None
    if not pool.instance_types.is_known:
        return None
    rows = [context.catalogue.instances.get(name) for name in pool.instance_types.value]
    if any(row is None for row in rows):
        return None
    if all(row is not None and (row.efa_interfaces or 0) > 0 for row in rows):
        asks = any(_EFA in (*c.limits, *c.requests) for c in group.containers)
        known = group.containers_known and all(c.resources_known for c in group.containers)
        if not asks and known:
            return f"do not request {_EFA}"
        if pool.fabric.is_absent and pool.maker in (Maker.EKS, Maker.AWS):
            return "the pool's machines are not given EFA"
        return None
    if all(row is not None and row.gpudirect for row in rows):
        if pool.fabric.is_absent and pool.maker is Maker.GKE:
            return "the pool has no additional networks for GPUDirect"
        return None
    return None
