"""Pods that the pools declared with them can never hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.cluster.nvidia import SharingConfig
from gpufleet.cluster.pool import NodePool
from gpufleet.findings import Finding, Level
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import reach
from gpufleet_policies.rules.capacity import certainty
from gpufleet_policies.rules.placement import (
    INSTANCE_TYPE_LABELS,
    chooses_pool,
    is_labelled,
    names_pool,
    place_of,
    pools_for,
    possible_pools,
    tolerates,
)
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.published import published
from gpufleet_policies.rules.shapes import shapes
from gpufleet_policies.rules.written import written_rule


@written_rule("gpu-pods-exceed-declared-pools")
def exceed(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Mandatory where the pods name the pool, or the machine; else advice: the cluster may have
    other pools.

    Only where every pool that fits the pods is known, as those of a fleet are. For jobs only the
    size of one pod counts: their pods may run one after another.
    """
    if workload.node_agent:
        return
    for group in workload.running_groups():
        for resource in group.gpu_resources:
            asked = group.pod_gpus(resource)
            if asked.is_known and asked.value > 0:
                yield from _validated(context, workload, group, resource, asked.value)


@written_rule("gpu-pods-not-tolerated")
def not_tolerated(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Not for taints whose toleration the cluster adds. Advice where other nodes may take the pods:
    where no label is a pool's name."""
    if context.fleet is not None or workload.node_agent:
        return
    for group in workload.running_groups():
        if not group.gpu_resources or not group.node_labels_known:
            continue
        labelled = [pool for pool in all_pools(context) if is_labelled(context, pool, group)]
        chosen = [pool for pool in labelled if not pool.is_certainly_not_gpu]
        if not chosen or not all(tolerates(pool, group) is False for pool in chosen):
            continue
        taints = sorted({t.key for pool in chosen for t in pool.taints.found or () if t.repels})
        yield not_tolerated.say(
            group=group,
            verb="chooses" if group.node_labels else "the GPU pools declared here are",
            names=", ".join(pool.name for pool in chosen),
            how=" by labels" if group.node_labels else "",
            taints=taints,
            certain=names_pool(group),
        )


@dataclass(frozen=True, slots=True)
class _Room:
    """Capacity of the pools that fit some pods."""

    largest: str
    """The pool whose nodes publish most of the resource."""
    per_node: int
    pods: int | None
    """At the pools' largest sizes; None where one has no bound that is known."""
    names: str
    """Of the pools; empty: the pods name the machine."""


def _validated(
    context: RuleContext, workload: WorkloadFacts, group: PodGroup, resource: str, asked: int
) -> Iterator[Finding]:
    room = _room(context, group, resource, asked) or _room_of_types(context, group, resource)
    if room is None or not room.per_node:
        return  # not known, or other rules report that nothing publishes it
    level = Level.MANDATORY if names_pool(group) or not room.names else Level.ADVISORY
    if context.fleet is not None:
        level = certainty(context)
    if asked > room.per_node:
        yield exceed.say(
            group.where, case="one", asked=asked, resource=resource, room=room, at_most=level
        )
        return
    if room.pods is None or workload.runs_to_completion or not group.pods.is_known:
        return
    lacking = group.pods.value - room.pods
    if lacking > 0:
        yield exceed.say(
            group.where,
            group=group,
            asked=asked,
            resource=resource,
            room=room,
            lacking=lacking,
            at_most=level,
        )


def _room_of_types(context: RuleContext, group: PodGroup, resource: str) -> _Room | None:
    """The largest machine that the pods name, where nothing here shares GPUs and no pool states
    more."""
    if resource != GPU or not any(key in group.node_labels for key in INSTANCE_TYPE_LABELS):
        return None
    if context.fleet is not None:
        return None
    if pools_for(context, group) or context.declared(SharingConfig):
        return None
    largest = max(shapes(context, group, resource), key=lambda one: one.gpus, default=None)
    return None if largest is None else _Room(largest.name, largest.gpus, None, "")


def _room(context: RuleContext, group: PodGroup, resource: str, asked: int) -> _Room | None:
    """Computed once for all pods that request the same in the same place."""
    key = ("room", place_of(group), resource, asked)
    if key not in context.memo:
        pools = possible_pools(context, group, resource)
        context.memo[key] = _computed(context, pools, resource, asked)
    return context.memo[key]


def room_for(context: RuleContext, group: PodGroup) -> tuple[str, int, str] | None:
    """Resource, maximum number of pods on the fleet's or the declared pools, and the pools in
    words; None if unknown, or if the pods may run elsewhere."""
    elsewhere = context.fleet is None and not chooses_pool(context, group)
    if len(group.gpu_resources) != 1 or elsewhere:
        return None
    resource = group.gpu_resources[0]
    asked = group.pod_gpus(resource)
    room = _room(context, group, resource, asked.value) if asked.found else None
    if room is None or not room.pods:
        return None
    return resource, room.pods, room.names


def _computed(
    context: RuleContext, pools: Sequence[NodePool], resource: str, asked: int
) -> _Room | None:
    rows: list[tuple[int, str, int | None]] = []
    for pool in pools:
        offer = published(context, pool)
        if offer is None:
            return None
        per_node = offer.resources.get(resource, 0)
        nodes = _nodes(context, pool)
        rows.append((per_node, pool.name, None if nodes is None else per_node // asked * nodes))
    if not rows:
        return None
    per_node, largest, _ = max(rows, key=lambda row: row[:2])
    pods = [held for _, _, held in rows]
    total = None if None in pods else sum(held for held in pods if held is not None)
    return _Room(largest, per_node, total, ", ".join(map(_in_words, pools)))


def _in_words(pool: NodePool) -> str:
    compiled = pool.compiled
    return pool.name if compiled is None else f"{pool.name} (nodes.max {compiled.maximum_nodes})"


def _nodes(context: RuleContext, pool: NodePool) -> int | None:
    if pool.compiled is not None:
        return pool.compiled.maximum_nodes
    most = reach(pool, context.catalogue)
    if most is None or most.gpus is None or not pool.gpus_per_node.found:
        return None
    return int(most.gpus / pool.gpus_per_node.found)
