"""GPUs of claims, counted like those of resources: for rules about waste and size."""

from dataclasses import replace
from decimal import Decimal

from gpufleet.cluster import (
    Amount,
    Autoscaler,
    Container,
    PodGroup,
    Surroundings,
    WorkloadFacts,
    known,
    unknown,
)
from gpufleet.cluster.claims import DeviceClaim
from gpufleet.cluster.container import GPU
from gpufleet.cluster.pods import PodClaim
from gpufleet.partition.shares import GPU_CLASS
from gpufleet.rules.context import RuleContext, SameObject
from gpufleet_policies.rules.placement import PRODUCT_LABEL

COUNTING = frozenset({"idle", "jobs", "model_fit", "parallelism", "servers"})
"""Families of rules that look at the work, wherever its GPUs are from. Those about requests, pools
and sharing see what is written: a claim is not a resource of a node."""


def claim_of(
    surroundings: Surroundings | None, workload: WorkloadFacts, one: PodClaim
) -> DeviceClaim | None:
    """The claim or template that an entry names, where it is declared with the workload."""
    if surroundings is None:
        return None
    for is_template, name in ((True, one.template), (False, one.claim)):
        if not name.is_known:
            continue
        for claim in surroundings.of(DeviceClaim):
            here = claim.locator.namespace == workload.locator.namespace
            if here and claim.is_template == is_template and claim.locator.name == name.value:
                return claim
    return None


def with_claims(context: RuleContext, workload: WorkloadFacts) -> WorkloadFacts:
    """The workload with the whole GPUs of its claims as if its containers named them."""
    if not workload.uses_claims or context.surroundings is None:
        return workload
    key = ("with claims", SameObject(workload))
    if key not in context.memo:
        groups = tuple(_counted(context, workload, group) for group in workload.pod_groups)
        context.memo[key] = replace(workload, pod_groups=groups)
    return context.memo[key]


def with_pods(context: RuleContext, workload: WorkloadFacts) -> WorkloadFacts:
    """A workload of no replicas that an autoscaler starts, with an unknown number of pods."""
    own = (workload.locator.kind, workload.locator.name, workload.locator.namespace)
    if all(group.pods.found != 0 for group in workload.pod_groups) or not any(
        (one.target_kind.found, one.target_name.found, one.locator.namespace) == own
        for one in context.anywhere(Autoscaler)
    ):
        return workload
    groups = (replace(group, pods=unknown("spec.replicas")) for group in workload.pod_groups)
    return replace(workload, pod_groups=tuple(groups))


def _counted(context: RuleContext, workload: WorkloadFacts, group: PodGroup) -> PodGroup:
    numbers: dict[str, int] = {}
    products: set[str] = set()
    for one in group.claims:
        claim = claim_of(context.surroundings, workload, one)
        if claim is not None and (claim.is_template or group.pods.found == 1):
            numbers[one.name] = _gpus(claim)
            products |= {request.product for request in claim.requests}
    found: list[Container] = []
    for container in group.containers:
        gpus = sum(numbers.pop(name, 0) for name in container.claims)  # the first to name it
        if gpus and not container.gpu_resources:
            amount = known(Amount(str(gpus), Decimal(gpus)), place=f"{container.place}.resources")
            limits = {**container.limits, GPU: amount}
            container = replace(container, limits=limits, resources_place="", claimed=True)
        found.append(container)
    labels = group.node_labels
    if len(products) == 1 and "" not in products and PRODUCT_LABEL not in labels:
        labels = {**labels, PRODUCT_LABEL: frozenset({products.pop().replace(" ", "-")})}
    return replace(group, containers=tuple(found), node_labels=labels)


def _gpus(claim: DeviceClaim) -> int:
    """Whole GPUs that it certainly takes; 0 for another kind of device, or an unknown number."""
    total = 0
    for request in claim.requests:
        exact = request.allocation.found == "ExactCount" and request.count.is_known
        if request.alternative or not exact or request.device_class.found != GPU_CLASS:
            return 0
        total += request.count.value
    return total


def gpus_of(group: PodGroup) -> list[int]:
    """GPUs of one pod, by resource; 0 where a number is not known."""
    return [group.pod_gpus(name).found or 0 for name in group.gpu_resources]


def gpus_at_once(workload: WorkloadFacts, group: PodGroup) -> int:
    """GPUs of all pods of a group, if it has any; of one pod where they may run one by one, and of
    all groups of a workload that starts together. A number of pods that is not known is 1."""
    alone = sum(gpus_of(group))
    if not alone or (workload.runs_to_completion and not workload.starts_together):
        return alone
    groups = workload.pod_groups if workload.starts_together else (group,)
    return sum(sum(gpus_of(g)) * (1 if g.pods.found is None else g.pods.found) for g in groups)
