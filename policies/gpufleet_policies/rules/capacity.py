"""Pods that request a resource which no node of the fleet publishes."""

from collections.abc import Iterator

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.container import GPU, MIG_PREFIX, SHARED_SUFFIX
from gpufleet.cluster.nvidia import SharingConfig
from gpufleet.findings import Finding, Level
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.placement import candidates, gpu_requests, offering, pools_for
from gpufleet_policies.rules.pool_money import nodes_money, smallest
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.published import published, strategy
from gpufleet_policies.rules.written import written_rule


def certainty(context: RuleContext) -> Level:
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
        yield from _unpublished(context, workload)
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
            yield not_offered.say(
                group.where,
                amount=amount,
                resource=resource,
                bound=limit,
                offered=offered,
                alternative=alternative,
                at_most=Level.ADVISORY if elsewhere else certainty(context),
            )


def _unpublished(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Requests for slices, or whole GPUs, that no pool publishes of those declared one by one."""
    groups = ((group, *one) for group in workload.running_groups() for one in gpu_requests(group))
    for group, resource, asked in groups:
        if resource != GPU and not resource.startswith(MIG_PREFIX):
            continue
        pools = [pool for pool in pools_for(context, group) if pool.is_certainly_gpu]
        if not all_pools(context) and (because := _never_published(context, resource)):
            yield not_offered.say(
                f"group {group.name}" if group.name else group.place,
                case="configuration",
                asked=asked,
                resource=resource,
                because=because,
            )
            continue
        if not pools or len(pools) < len(pools_for(context, group)):
            continue
        offers = [published(context, pool) for pool in pools]
        if any(offer is None for offer in offers):
            continue
        known = [offer for offer in offers if offer is not None]
        if any(resource in offer.resources for offer in known):
            continue
        offered = sorted({name for offer in known for name in offer.resources})
        yield not_offered.say(
            f"group {group.name}" if group.name else group.place,
            case="pools",
            asked=asked,
            resource=resource,
            names=", ".join(pool.name for pool in pools),
            there=", ".join(offered) or "nothing",
            offered=offered,
            alternative=f"request one of {', '.join(offered)}" if offered else "fix the layout",
            money=nodes_money(context, pools[0], smallest(pools[0]), AmountKind.WASTE),
        )


def _never_published(context: RuleContext, resource: str) -> str:
    """Why the device plugin that is installed here publishes a resource nowhere; empty: it may."""
    if resource.startswith(MIG_PREFIX):
        single = strategy(context).found == "single"
        return f"under the MIG strategy single slices are {GPU}" if single else ""
    configs = context.declared(SharingConfig)
    renamed = [
        one.rename_by_default.found is True and resource in {entry.name for entry in one.resources}
        for one in configs
    ]
    return f"its shares are renamed to {resource}{SHARED_SUFFIX}" if renamed == [True] else ""
