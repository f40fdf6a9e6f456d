"""Autoscalers that may request more pods than the pools can ever hold."""

from collections.abc import Iterator

from gpufleet.cluster import Autoscaler, PodGroup, WorkloadFacts
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.findings import Finding, Level, finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.capacity import room_for
from gpufleet_policies.rules.pool_room import declared_room
from gpufleet_policies.rules.scaling import target_of
from gpufleet_policies.rules.written import written_rule


@written_rule("gpu-autoscaler-exceeds-pool", (Autoscaler, WorkloadFacts))
def exceeds(context: RuleContext, subject: Autoscaler | WorkloadFacts) -> Iterator[Finding]:
    """Advice only: the pool may be meant as the limit. For declared pools only those that the pods
    name."""
    if isinstance(subject, Autoscaler):
        target = target_of(context, subject)
        if target is None or len(target.pod_groups) != 1:
            return
        yield from _validated(context, subject.scaling, target, target.pod_groups[0])
        return
    for scaling in subject.scaling:
        if scaling.enabled.is_unknown or scaling.enabled.found is False:
            continue
        for group in subject.pod_groups:
            if group.name == scaling.group:
                yield from _validated(context, scaling, subject, group)


def _validated(
    context: RuleContext, scaling: ScalingFacts, workload: WorkloadFacts, group: PodGroup
) -> Iterator[Finding]:
    if not scaling.maximum.is_known or not group.together.is_known:
        return
    room = room_for(context, group) or declared_room(context, group)
    if room is None:
        return
    resource, pods, pools = room
    most = (
        scaling.maximum.value * group.together.value
        if workload.ray is None
        else (scaling.maximum.value)
    )
    if most <= pods:
        return
    yield finding(
        where=scaling.maximum.place or scaling.place,
        found=f"may grow {workload.locator} to {most} pods",
        limit=f"{pools} can hold {pods} pods with {resource}; the others would stay Pending",
        alternative=f"write at most {pods}, or let the pool grow",
        at_most=Level.ADVISORY,
        evidence={"pods": most, "room": pods},
    )
