"""Queues: quota above the capacity, quota that no team can use, queues without a limit."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster.fact import Fact, known, unknown
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.cluster.queues import (
    ClusterQueue,
    CohortFacts,
    FlavorQuota,
    KaiQueue,
    KueueConfiguration,
    QueueAdmissionCheck,
    ResourceFlavor,
)
from gpufleet.findings import Finding, finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import reach
from gpufleet_policies.rules.placement import carries
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.published import published
from gpufleet_policies.rules.written import written_rule

_PROVISIONING = "kueue.x-k8s.io/provisioning-request"


@written_rule("kueue-without-ready-timeout", ClusterQueue)
def without_timeout(context: RuleContext, queue: ClusterQueue) -> Iterator[Finding]:
    """Neither waitForPodsReady, nor a topology, nor a check that provisions all nodes at once.

    Reported once, on the first queue with GPUs, and only where Kueue's own configuration, or its
    chart's values, are declared here.
    """
    with_gpus = [one for one in context.declared(ClusterQueue) if one.quotas]
    if not with_gpus or with_gpus[0].locator != queue.locator:
        return
    configurations = context.anywhere(KueueConfiguration)
    charts = [chart for chart in context.declared(Program) if chart.name == "kueue"]
    if not configurations and not charts:
        return
    if any(not c.waits_for_ready.is_known or c.waits_for_ready.value for c in configurations):
        return
    if any(not flavor.topology.is_absent for flavor in context.anywhere(ResourceFlavor)):
        return
    if any(c.controller.found == _PROVISIONING for c in context.anywhere(QueueAdmissionCheck)):
        return
    where = configurations[0] if configurations else charts[0]
    yield finding(
        where=str(where.locator),
        found="Kueue queues GPU jobs, and waitForPodsReady is off",
    )


@written_rule("quota-exceeds-capacity", ResourceFlavor)
def exceeds_capacity(context: RuleContext, flavor: ResourceFlavor) -> Iterator[Finding]:
    """Nominal quotas of all ClusterQueues and Cohorts against the pools its labels select.

    Silent for flavours without labels of which no pool is declared, and for pools without a bound.
    """
    totals: dict[str, Fact[int]] = {}
    for quota in _quotas(context):
        if quota.flavor == flavor.locator.name:
            totals[quota.resource] = _plus(totals.get(quota.resource, known(0)), quota.nominal)
    pools = [pool for pool in all_pools(context) if _of_flavor(context, pool, flavor)]
    if not pools:
        return
    for resource, nominal in totals.items():
        there = _reachable(context, pools, resource)
        if there is None or not nominal.is_known or nominal.value <= there:
            continue
        yield finding(
            where=f"quota of {resource}",
            found=f"queues may admit {nominal.value} x {resource}",
            limit=f"{', '.join(pool.name for pool in pools)} can have {there} at most",
            alternative=f"lower the nominal quotas to {there} together, or let the pools grow",
            evidence={"quota": nominal.value, "reachable": there},
        )


def _quotas(context: RuleContext) -> Iterator[FlavorQuota]:
    for queue in context.declared(ClusterQueue):
        yield from queue.quotas
    for cohort in context.declared(CohortFacts):
        yield from cohort.quotas


def _plus(one: Fact[int], other: Fact[int]) -> Fact[int]:
    if not one.is_known or not other.is_known:
        return unknown("nominalQuota")
    return known(one.value + other.value)


def _of_flavor(context: RuleContext, pool: NodePool, flavor: ResourceFlavor) -> bool:
    if not pool.is_certainly_gpu:
        return False
    answers = [
        carries(context, pool, key, frozenset({value})) for key, value in flavor.node_labels.items()
    ]
    return all(answer is not False for answer in answers)


def _reachable(context: RuleContext, pools: list[NodePool], resource: str) -> int | None:
    total = 0
    for pool in pools:
        offer, most = published(context, pool), reach(pool, context.catalogue)
        if offer is None or most is None or most.gpus is None or not pool.gpus_per_node.is_known:
            return None
        nodes = most.gpus / max(1, pool.gpus_per_node.value)
        if pool.compiled is not None:
            nodes = Fraction(pool.compiled.maximum_nodes)
        total += int(nodes * offer.resources.get(resource, 0))
    return total


@written_rule("queue-without-cap", (ClusterQueue, KaiQueue))
def without_cap(context: RuleContext, queue: ClusterQueue | KaiQueue) -> Iterator[Finding]:
    """KAI: quota and limit both -1. Kueue: in a cohort and without borrowingLimit."""
    if not context.is_nonproduction(queue):
        return
    environment = context.environment_of(queue).value
    if isinstance(queue, KaiQueue):
        if queue.quota.found == -1 and queue.limit.found == -1:
            yield finding(
                where="spec.resources.gpu",
                found=f"quota -1 and limit -1 in {environment}",
                limit="a queue outside production must not take every GPU",
                alternative="write a limit",
            )
        return
    if not queue.cohort.is_known:
        return
    for quota in queue.quotas:
        if quota.borrowing_limit.is_absent:
            yield finding(
                where=quota.place,
                found=f"{quota.resource} of flavour {quota.flavor} has no borrowingLimit in "
                f"{environment}",
                limit="a queue outside production must not borrow every GPU",
                alternative="write borrowingLimit",
            )
