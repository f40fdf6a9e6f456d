"""Rollouts and tolerations of GPU pods that leave them waiting."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU, MIG_PREFIX, SHARED_SUFFIX
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.gpu_groups import gpu_groups
from gpufleet_policies.rules.node_labels import mig_names
from gpufleet_policies.rules.pool_room import room_for
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.written import written_rule


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
