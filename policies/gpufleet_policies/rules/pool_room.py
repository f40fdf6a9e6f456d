"""Pods that stay Pending: no node offers what they request, has room, or is tolerated."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU, MIG_PREFIX, SHARED_SUFFIX
from gpufleet.cluster.nvidia import SharingConfig
from gpufleet.cluster.pool import NodePool
from gpufleet.findings import Finding, Level
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.pools import reach
from gpufleet_policies.rules.node_labels import mig_names
from gpufleet_policies.rules.placement import (
    INSTANCE_TYPE_LABELS,
    candidates,
    chooses_pool,
    gpu_groups,
    gpu_requests,
    is_labelled,
    names_pool,
    offering,
    place_of,
    pools_for,
    possible_pools,
    tolerates,
)
from gpufleet_policies.rules.pool_money import nodes_money, smallest
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.published import published, strategy
from gpufleet_policies.rules.shapes import shapes
from gpufleet_policies.rules.written import written_rule


@written_rule("gpu-pods-exceed-declared-pools")
def exceed(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Mandatory where the pods name the pool, or the machine; else advice, also where no pool here
    has GPUs: the cluster may have other pools.

    Only where every pool that fits the pods is known, as those of a fleet are. For jobs only the
    size of one pod counts: their pods may run one after another.
    """
    if workload.node_agent:
        return
    for group in workload.running_groups():
        for resource, asked in gpu_requests(group):
            yield from _validated(context, workload, group, resource, asked)


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
    named = names_pool(group) or any(key in group.node_labels for key in INSTANCE_TYPE_LABELS)
    pools = () if context.fleet or named or resource != GPU else all_pools(context)
    if pools and group.node_labels_known and all(pool.is_certainly_not_gpu for pool in pools):
        names = ", ".join(pool.name for pool in pools)
        yield exceed.say(group.where, case="none", asked=asked, names=names, at_most=Level.ADVISORY)
        return
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
    named = any(key in group.node_labels for key in INSTANCE_TYPE_LABELS)
    if resource != GPU or not named or context.fleet is not None:
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
            labels = [f"{one}={' or '.join(sorted(of))}" for one, of in group.node_labels.items()]
            limit = (
                f"no pool of the fleet has {' and '.join(labels)}"
                if labels and not pools
                else f"the pools its node labels allow offer {', '.join(offered) or 'nothing'}"
                if labels
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


@written_rule("rollout-needs-spare-gpu")
def needs_spare(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """A Deployment whose replicas fill the pools at their largest, and that may not go below them.

    The defaults do that up to three replicas: one pod more, none fewer.
    """
    if not workload.surge.is_known or workload.node_agent:
        return
    for group, _, pods in gpu_groups(workload):
        room = room_for(context, group)
        if room is None:
            continue
        resource, most, names = room
        if pods > most or pods + workload.surge.value <= most:
            continue
        yield needs_spare.say(
            workload.surge.place,
            workload=workload,
            pods=pods,
            resource=resource,
            names=names,
            most=most,
        )


@written_rule("gpu-toleration-misspelt")
def misspelt(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """A key that is nearly that of the taint, without a toleration of the right key; or the right
    key without operator and value. Not where a declared pool has such a taint: its value may be
    empty."""
    for group in workload.pod_groups:
        yield from _no_such_resource(context, group)
        if not group.gpu_resources or not group.tolerations.is_known:
            continue
        tolerated = group.tolerations.value
        if any(one.tolerates_everything for one in tolerated):
            continue
        taints = {taint.key for pool in all_pools(context) for taint in pool.taints.found or ()}
        ours = [one for one in tolerated if one.key == GPU]
        if ours and GPU not in taints and all(o.operator == "Equal" and not o.value for o in ours):
            yield misspelt.say(group=group)
        for one in () if ours else tolerated:
            if one.key in taints or not _is_nearly_the_taint(one.key):
                continue
            yield misspelt.say(case="near", group=group, one=one)


_PUBLISHED = f"the device plugin publishes {GPU}"
_NO_SUCH = re.compile(r"nvidia(\W?com)?\W?gpus?([-._]?memory)?", re.IGNORECASE)
"""Spellings of the resource of GPUs; others (`nvidia.com/gpumem`) exist in other device plugins."""


def _no_such_resource(context: RuleContext, group: PodGroup) -> Iterator[Finding]:
    for container in group.containers:
        for name in {**container.limits, **container.requests}:
            slices = mig_names(context.catalogue) if name.startswith(MIG_PREFIX) else ()
            plain = name.removeprefix(MIG_PREFIX).removesuffix(SHARED_SUFFIX)
            lacking = bool(slices) and plain not in slices
            if not lacking and (name == GPU or not _NO_SUCH.fullmatch(name)):
                continue
            published = "no GPU of the catalogue has such a MIG profile" if lacking else _PUBLISHED
            right = GPU
            if lacking:
                right = MIG_PREFIX + (*nearest_names(plain, slices, limit=1), min(slices))[0]
            yield misspelt.say(
                container.where, case="resource", name=name, published=published, right=right
            )


_NEARLY = 0.8
"""Part of the letters that a misspelt key shares with the right one."""


def _is_nearly_the_taint(key: str) -> bool:
    """Keys of other taints (`nvidia.com/gpu-pool`, `nvidia.com/mig-...`) are meant."""
    if "/" not in key or key.startswith((f"{GPU}.", f"{GPU}-", f"{GPU}_", MIG_PREFIX)):
        return False
    return SequenceMatcher(None, key.lower(), GPU).ratio() >= _NEARLY
