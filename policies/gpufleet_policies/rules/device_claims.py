"""Claims of dynamic resource allocation that take more than they use."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.claims import DeviceClaim
from gpufleet.cluster.pods import PodClaim
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money
from gpufleet.findings.remediation import remove
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.rules.claimed import claim_of
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.written import written_rule


@written_rule("dra-takes-all-devices", DeviceClaim)
def takes_all(context: RuleContext, claim: DeviceClaim) -> Iterator[Finding]:
    """`allocationMode: All` of a GPU class; not where only agents of nodes use it."""
    if _only_for_agents(context, claim):
        return
    for request in claim.requests:
        if not request.is_gpu or not request.allocation.is_known:
            continue
        if request.allocation.value == "All":
            yield takes_all.say(request.place, request=request)


def _only_for_agents(context: RuleContext, claim: DeviceClaim) -> bool:
    found = _users(context).get(
        (claim.locator.namespace, claim.is_template, claim.locator.name), ()
    )
    return bool(found) and all(user.node_agent for user in found)


Users = dict[tuple[str, bool, str], list[WorkloadFacts]]


@once
def _users(context: RuleContext) -> Users:
    """Namespace, whether it is a template, and name of each claim -> the workloads that use it."""
    users: Users = {}
    for workload in context.anywhere(WorkloadFacts):
        namespace = workload.locator.namespace
        for one in (one for group in workload.pod_groups for one in group.claims):
            for name, is_template in ((one.template, True), (one.claim, False)):
                if name.is_known:
                    users.setdefault((namespace, is_template, name.value), []).append(workload)
    return users


@written_rule("gpu-requested-twice")
def requested_twice(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Claims of compute domains and network cards are correct with GPUs and do not count."""
    for group in workload.pod_groups:
        if not group.claims or not group.gpu_resources:
            continue
        for one in group.claims:
            claim = claim_of(context.surroundings, workload, one)
            if claim is None or not claim.asks_for_gpus:
                continue
            yield requested_twice.say(
                one.place,
                claim=claim,
                group=group,
                alternative=requested_twice.instead(resource=group.gpu_resources[0]),
                money=held(context, workload, group),
            )


@written_rule("dra-claim-unused")
def unused(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """The device is allocated to the pod all the same."""
    for group in workload.pod_groups:
        if not group.claims or not group.containers:
            continue
        if not all(one.claims_known and one.resources_known for one in group.containers):
            continue
        used = {name for container in group.containers for name in container.claims}
        for one in reversed(group.claims):
            if one.name in used or one.name == "?":
                continue
            yield unused.say(
                one.place,
                one=one,
                alternative=unused.instead(claim=one.place),
                money=_devices(context, workload, group, one),
                remediation=(remove(one.place),),
            )


def _devices(
    context: RuleContext, workload: WorkloadFacts, group: PodGroup, one: PodClaim
) -> Money | None:
    """GPU-hours of the claim's devices, where the claim is declared with the workload."""
    claim = claim_of(context.surroundings, workload, one)
    if claim is None or not group.pods.is_known:
        return None
    counts = [r.count.value for r in claim.requests if r.is_gpu and r.count.is_known]
    if not counts:
        return None
    pods = group.pods.value if claim.is_template else 1
    gpus = Fraction(sum(counts) * pods)
    basis = f"{claim.locator}, {pods} time{'' if pods == 1 else 's'}"
    return Money(AmountKind.WASTE, None, gpus, basis, all_month=not workload.runs_to_completion)


@written_rule("dra-claim-elsewhere")
def elsewhere(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Advice where the claim is in another file: the namespace's own may be somewhere else."""
    here = workload.locator.namespace
    if context.surroundings is None or not here:
        return
    for one in (one for group in workload.pod_groups for one in group.claims):
        if claim_of(context.surroundings, workload, one) is not None:
            continue
        name, is_template = (one.template, True) if one.template.is_known else (one.claim, False)
        found = [
            claim.locator
            for claim in context.surroundings.of(DeviceClaim)
            if claim.is_template == is_template and claim.locator.name == name.found
        ]
        if not found or not all(other.namespace for other in found):
            continue
        together = any(other.file == workload.locator.file for other in found)
        yield elsewhere.say(one.place, found=found, here=here, certain=together)


@written_rule("dra-shared-claim-multiplied")
def shared_claim(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """More than one pod with `resourceClaimName`, unless the claim configures how it is shared."""
    for group in workload.running_groups():
        if not group.pods.is_known or group.pods.value < 2:
            continue
        for one in group.claims:
            if not one.claim.is_known:
                continue
            claim = claim_of(context.surroundings, workload, one)
            if claim is not None and (claim.configured or not claim.asks_for_gpus):
                continue
            yield shared_claim.say(one.place, group=group, one=one)
