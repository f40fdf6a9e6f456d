"""Training over several nodes, and what lies between them: zones and fabric."""

from collections.abc import Iterator

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.gpu_groups import gpu_groups
from gpufleet_policies.rules.placement import pools_for
from gpufleet_policies.rules.purpose import is_training
from gpufleet_policies.rules.written import written_rule

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
