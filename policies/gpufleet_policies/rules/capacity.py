"""Pods the fleet can never run: wrong resource, too much on one node, too many of them."""

from collections.abc import Iterator

from gpufleet.cluster import PodGroup, PoolFacts, WorkloadFacts
from gpufleet.findings import Finding, Level, finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.mig_workloads import unpublished
from gpufleet_policies.rules.placement import candidates, gpu_requests, offering
from gpufleet_policies.rules.written import written_rule


def _certainty(context: RuleContext) -> Level:
    """A fleet that a setting refers to may be older than the running fleet."""
    assert context.fleet is not None
    return Level.MANDATORY if context.fleet.in_program else Level.ADVISORY


@written_rule("gpu-resource-not-offered")
def not_offered(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """The pod would stay Pending. Pools that the pod's required labels exclude do not count.

    Applies with a GpuFleet to every resource. With separately declared pools: to a slice that no
    selectable layout has, or a whole GPU where `mixed` partitions every GPU, if all GPUs of each
    pool that fits the pods are known.
    """
    if context.fleet is None:
        yield from unpublished(context, workload)
        return
    for group in workload.pod_groups:
        pools = candidates(context, group)
        for resource, amount in gpu_requests(group):
            if offering(pools, resource):
                continue
            elsewhere = offering(list(context.fleet.pools), resource)
            offered = sorted({s.resource for pool in pools for s in pool.shares})
            limit = (
                f"the pools its node labels allow offer {', '.join(offered) or 'nothing'}"
                if group.node_labels
                else f"the fleet offers {', '.join(offered) or 'nothing'}"
            )
            alternative = (
                f"remove the node label, or choose pool {elsewhere[0].name}"
                if elsewhere
                else f"request one of {', '.join(offered)}"
                if offered
                else "add a pool that offers it"
            )
            yield finding(
                where=group.where,
                found=f"requests {amount} x {resource}, which no such pool publishes",
                limit=f"{limit}; the pods would stay Pending",
                alternative=alternative,
                # Another program may put a label on nodes that the fleet does not have.
                at_most=Level.ADVISORY if elsewhere else _certainty(context),
                evidence={"resource": resource, "offered": offered},
            )


def exceed_fleet(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Pods that the pools of the declared fleet cannot hold."""
    assert context.fleet is not None
    for group in workload.pod_groups:
        pools = candidates(context, group)
        for resource, amount in gpu_requests(group):
            offered = offering(pools, resource)
            if not offered:
                continue
            largest = max(offered, key=lambda pool: _per_node(pool, resource))
            if amount > _per_node(largest, resource):
                yield finding(
                    where=group.where,
                    found=f"one pod requests {amount} x {resource}",
                    limit=f"a node of {largest.name} has {_per_node(largest, resource)}; the pod "
                    "would stay Pending",
                    alternative="spread the work over several pods, or use a larger machine",
                    at_most=_certainty(context),
                    evidence={"resource": resource, "asked": amount},
                )
                continue
            room = sum(_per_node(pool, resource) // amount * pool.maximum_nodes for pool in offered)
            if workload.runs_to_completion or not group.pods.is_known or group.pods.value <= room:
                continue
            names = ", ".join(f"{pool.name} (nodes.max {pool.maximum_nodes})" for pool in offered)
            yield finding(
                where=group.where,
                found=f"{group.pods.value} pods of {amount} x {resource}",
                limit=f"{names} can hold {room} at most; {group.pods.value - room} would stay "
                "Pending",
                alternative=_more_nodes(offered, resource, amount, group.pods.value - room),
                at_most=_certainty(context),
                evidence={"resource": resource, "pods": group.pods.value, "room": room},
            )


def _per_node(pool: PoolFacts, resource: str) -> int:
    return sum(share.per_node for share in pool.shares if share.resource == resource)


def _more_nodes(pools: list[PoolFacts], resource: str, amount: int, lacking: int) -> str:
    fitting = [pool for pool in pools if _per_node(pool, resource) >= amount]
    pool = fitting[0]
    nodes = pool.maximum_nodes - (-lacking // (_per_node(pool, resource) // amount))
    return f"lower the replicas, or raise {pool.path}.nodes.max of {pool.name} to {nodes}"


def room_for(context: RuleContext, group: PodGroup) -> tuple[str, int, str] | None:
    """Resource, pods of a group that all pools at their largest can hold, and the pools in words.

    None without a fleet, for pods that request nothing or several resources, and for pods that no
    pool can run: other rules report them.
    """
    requests = list(gpu_requests(group))
    if context.fleet is None or len(requests) != 1:
        return None
    resource, amount = requests[0]
    offered = offering(candidates(context, group), resource)
    room = sum(_per_node(pool, resource) // amount * pool.maximum_nodes for pool in offered)
    if not room:
        return None
    return resource, room, ", ".join(f"{p.name} (nodes.max {p.maximum_nodes})" for p in offered)
