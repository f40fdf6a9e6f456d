"""Queues and quotas: above the capacity, of use to no team, too small for pods."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.cluster import GpuQuota
from gpufleet.cluster.fact import Fact, known
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.queues import (
    ClusterQueue,
    CohortFacts,
    FlavorQuota,
    KueueConfiguration,
    LocalQueue,
    ResourceFlavor,
)
from gpufleet.findings import Finding, Level
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import reach
from gpufleet_policies.readers.raw_pods import total_of
from gpufleet_policies.readers.reading import is_filled_in
from gpufleet_policies.rules.placement import carries
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.published import published
from gpufleet_policies.rules.written import written_rule


@written_rule("quota-exceeds-capacity", ResourceFlavor)
def exceeds_capacity(context: RuleContext, flavor: ResourceFlavor) -> Iterator[Finding]:
    """Nominal quotas of all ClusterQueues and Cohorts against the pools its labels select.

    Silent for flavours without labels of which no pool is declared, and for pools without a bound.
    """
    totals: dict[str, Fact[int]] = {}
    for quota in _quotas(context):
        if quota.flavor == flavor.locator.name:
            others = totals.get(quota.resource, known(0))
            totals[quota.resource] = total_of([others, quota.nominal])
    pools = [pool for pool in all_pools(context) if _of_flavor(context, pool, flavor)]
    if not pools:
        return
    for resource, nominal in totals.items():
        there = _reachable(context, pools, resource)
        if there is None or not nominal.is_known or nominal.value <= there:
            continue
        yield exceeds_capacity.say(
            resource=resource,
            nominal=nominal,
            names=", ".join(pool.name for pool in pools),
            there=there,
        )


def _quotas(context: RuleContext) -> Iterator[FlavorQuota]:
    for queue in context.declared(ClusterQueue):
        yield from queue.quotas
    for cohort in context.declared(CohortFacts):
        yield from cohort.quotas


def _of_flavor(context: RuleContext, pool: NodePool, flavor: ResourceFlavor) -> bool:
    return pool.is_certainly_gpu and all(
        carries(context, pool, key, frozenset({value})) is not False
        for key, value in flavor.node_labels.items()
    )


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


_QUEUE = "kueue.x-k8s.io/queue-name"
_FEWER = "kueue.x-k8s.io/job-min-parallelism"
"""Annotation by which Kueue may start a Job with fewer pods (partial admission)."""


@written_rule("gpu-quota-never-admits")
def never_admits(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Advice if single pods fit and only all of them do not. Jobs may run one pod after another,
    but a queue admits them whole."""
    if not workload.uses_gpus or workload.node_agent:
        return
    yield from _of_namespace(context, workload)
    yield from _of_queue(context, workload)


@written_rule("gpu-quota-counts-nothing", GpuQuota)
def counts_nothing(context: RuleContext, quota: GpuQuota) -> Iterator[Finding]:
    """The name of the resource without `requests.`. Advice for `limits.`, which the scheduler of
    HAMi counts by itself (Project-HAMi/website#104)."""
    del context
    for name in quota.uncounted:
        resource = name.removeprefix("limits.")
        yield counts_nothing.say(name=name, resource=resource, certain=name == resource)


def _of_namespace(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    space = workload.locator.namespace
    here = _quotas_in(context.declared, space)
    together: dict[str, int] = {}
    for group in workload.running_groups():
        for resource in group.gpu_resources:
            asked, most = group.pod_gpus(resource), quota_of(context, space, resource)
            if most is None or not asked.is_known:
                continue
            pods = group.pods.found or 0
            alone = asked.value > most
            if workload.starts_together and not alone:
                total = together[resource] = together.get(resource, 0) + asked.value * pods
            else:
                total = asked.value * (1 if alone or workload.runs_to_completion else pods)
            surge = asked.value * (workload.surge.found or 0)
            if total <= most < total + surge:
                yield never_admits.say(
                    workload.surge.place,
                    case="rollout",
                    total=total,
                    resource=resource,
                    surge=surge,
                    space=space,
                    most=most,
                )
            if total <= most:
                continue
            yield never_admits.say(
                group.where,
                total=total,
                resource=resource,
                space=space,
                most=most,
                which="its pods" if alone else "the others",
                certain=alone and bool(here),
            )


def _quotas_in(found: Callable[[type[Any]], tuple[Any, ...]], space: str) -> list[GpuQuota]:
    return [one for one in found(GpuQuota) if space and one.locator.namespace == space]


def quota_of(context: RuleContext, space: str, resource: str) -> int | None:
    """The maximum of a resource in a namespace by its quotas; files of a folder can be
    alternatives, so the largest counts. None: no quota of it is known."""
    quotas = _quotas_in(context.declared, space) or _quotas_in(context.anywhere, space)
    return max((one.hard[resource] for one in quotas if resource in one.hard), default=None)


def _of_queue(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    if _QUEUE not in workload.labels:
        return
    queue = next(_queues_of(context.declared, workload), None)
    level = Level.ADVISORY if queue is None else Level.MANDATORY
    yield from _uncovered(context, workload, level)
    queues = tuple(_queues_of(context.anywhere, workload))
    if queue is None and len(queues) == 1:
        queue = queues[0]
    if queue is None or not queue.cohort.is_absent or workload.may_say(_FEWER):
        return
    asked: dict[str, int] = {}
    for group in workload.pod_groups:
        for resource in group.gpu_resources:
            each = group.pod_gpus(resource)
            pods = _admitted(workload, group)
            if not each.is_known or not pods.is_known:
                return
            asked[resource] = asked.get(resource, 0) + each.value * pods.value
    for resource, total in asked.items():
        quotas = [one.nominal for one in queue.quotas if one.resource == resource]
        room = total_of(quotas)
        if quotas and room.is_known and total > room.value:
            yield never_admits.say(
                case="queue",
                total=total,
                resource=resource,
                queue=queue,
                room=room.value,
                at_most=level,
            )


def _admitted(workload: WorkloadFacts, group: PodGroup) -> Fact[int]:
    """Pods that are admitted together: of a Deployment each alone, of a LeaderWorkerSet those of a
    group (Kueue documentation, Run LeaderWorkerSet), of others all."""
    if workload.locator.kind in ("Deployment", "ReplicaSet") or group.name == "leader":
        return known(1)
    if workload.locator.kind != "LeaderWorkerSet" or not group.together.is_known:
        return group.pods
    return known(group.together.value - (len(workload.pod_groups) - 1))


def _uncovered(context: RuleContext, workload: WorkloadFacts, level: Level) -> Iterator[Finding]:
    """A resource that no queue of the name covers, nor its cohort (kubernetes-sigs/kueue#4848).
    Excluded: a declared Kueue configuration, which may exclude the resource, or rename it."""
    queues = tuple(_queues_of(context.anywhere, workload))
    if not queues or any(one.covered is None for one in queues):
        return
    covered = frozenset(name for one in queues for name in one.covered or ())
    for resource in () if context.anywhere(KueueConfiguration) else _resources(workload):
        if resource not in covered:
            yield never_admits.say(
                case="uncovered",
                resource=resource,
                queues=queues,
                resources=", ".join(sorted(covered)) or "no resource",
                at_most=level,
            )


def _resources(workload: WorkloadFacts) -> dict[str, None]:
    """Names of all that the containers request: a queue must cover each of them."""
    written = (
        item
        for group in workload.pod_groups
        for one in group.containers
        for item in (*one.limits.items(), *one.requests.items())
    )
    return dict.fromkeys(
        name
        for name, amount in written
        if not is_filled_in(name) and (amount.found is None or amount.found.number)
    )


def _queues_of(
    found: Callable[[type[Any]], tuple[Any, ...]], workload: WorkloadFacts
) -> Iterator[ClusterQueue]:
    """The ClusterQueues of the one name that its label leads to: files may be alternatives."""
    name = workload.labels.get(_QUEUE)
    local = [
        one.cluster_queue.found
        for one in found(LocalQueue)
        if one.locator.name == name and one.locator.namespace == workload.locator.namespace
    ]
    return (one for one in found(ClusterQueue) if {one.locator.name} == set(local))
