"""Pods that request a resource which no node of the fleet publishes."""

from collections.abc import Iterator

from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Finding, Level, finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.mig_workloads import unpublished
from gpufleet_policies.rules.placement import candidates, gpu_requests, offering
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
                at_most=Level.ADVISORY if elsewhere else certainty(context),
                evidence={"resource": resource, "offered": offered},
            )
