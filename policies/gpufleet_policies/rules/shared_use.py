"""Work on shared GPUs: training, and programs that take more than a share."""

from collections.abc import Iterator
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction

from gpufleet.cluster import Container, PodGroup, Provenance, WorkloadFacts
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.grants import PoolGrant, shared_grants
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.model_memory import ROOM, gib, memory_need, model_weights
from gpufleet_policies.rules.model_requests import held_memory, larger_share
from gpufleet_policies.rules.purpose import training
from gpufleet_policies.rules.written import written_rule

USUAL_SHARE = Decimal("0.9")
"""Part of a GPU's memory that vLLM takes by default (`--gpu-memory-utilization`)."""


@written_rule("sharing-used-for-training")
def trains_on_shares(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Stops where several pods train together: two ranks may land on one GPU."""
    evidence = training(workload)
    if evidence is None:
        return
    for group in workload.running_groups():
        for share in shared_grants(context, group):
            several = group.pods.is_known and group.pods.value > 1
            yield trains_on_shares.say(
                group.place,
                share=share,
                limit="ranks of one program may run on one GPU and wait for each other"
                if several
                else "every step waits for the other tenants, and their memory use may stop it",
                certain=several,
                money=held(
                    context,
                    workload,
                    group,
                    Fraction(share.grant.replicas - 1, share.grant.replicas),
                ),
                provenance=evidence,
            )


@written_rule("sharing-memory-oversubscribed")
def oversubscribed(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Stops where the part of the memory is written; vLLM's own 0.9 and estimates only advise."""
    for group in workload.running_groups():
        if _cannot_load(context, workload, group):
            continue  # model-exceeds-gpu-memory reports it
        for share in shared_grants(context, group):
            greedy = next(
                (
                    container
                    for container in group.containers
                    if share.grant.resource in container.gpu_resources
                    and (taken := _taken(container)) is not None
                    and taken[0] * share.grant.replicas > 1
                ),
                None,
            )
            if greedy is not None:
                yield _too_greedy(context, workload, group, greedy, share)
            else:
                yield from _needs_more(context, workload, group, share)


def _cannot_load(context: RuleContext, workload: WorkloadFacts, group: PodGroup) -> bool:
    """Whether the weights alone exceed the memory that the pods can allocate."""
    weights = model_weights(workload.intent, context.catalogue)
    held = None if weights is None else held_memory(context, group)
    return weights is not None and held is not None and weights.bytes > held.bytes


def _taken(container: Container) -> tuple[Decimal, Provenance] | None:
    """Part of a GPU's memory a program takes for itself; None where it takes what it needs."""
    written = container.launch.memory_share
    if written.is_known:
        return written.value, Provenance.EXPLICIT
    image = container.image.found or ""
    if (
        written.is_absent
        and not container.words.is_unknown
        and "vllm-openai" in image.rsplit("/", 1)[-1]
    ):
        return USUAL_SHARE, Provenance.INFERRED
    return None


def _too_greedy(
    context: RuleContext,
    workload: WorkloadFacts,
    group: PodGroup,
    container: Container,
    share: PoolGrant,
) -> Finding:
    taken = _taken(container)
    assert taken is not None
    part, evidence = taken
    replicas = share.grant.replicas
    fair = (USUAL_SHARE / replicas).quantize(Decimal("0.01"), ROUND_DOWN)
    alternative = f"write a memory utilisation of {fair}"
    weights = model_weights(workload.intent, context.catalogue)
    device = share.grant.device_bytes
    if (
        weights is not None
        and device is not None
        and weights.bytes * ROOM > device * Fraction(fair)
    ):
        need = memory_need(workload.intent, context.catalogue)
        wanted = int(weights.bytes * ROOM) if need is None else need.bytes
        alternative = larger_share(share.grant, wanted)
    said = "" if evidence is Provenance.EXPLICIT else ", its usual value,"
    return oversubscribed.say(
        container.where,
        part=part,
        said=said,
        share=share,
        replicas=replicas,
        part_text=str(part),
        alternative=alternative,
        money=held(context, workload, group, kind=AmountKind.STANDING),
        provenance=evidence,
    )


def _needs_more(
    context: RuleContext,
    workload: WorkloadFacts,
    group: PodGroup,
    share: PoolGrant,
) -> Iterator[Finding]:
    """By what the model needs: MPS gives each pod its part, time-slicing lets pods collide."""
    need, own = memory_need(workload.intent, context.catalogue), share.grant
    if need is None or own.device_bytes is None or own.memory_bytes is None:
        return
    if not group.pods.is_known:
        return
    meeting = min(own.replicas, group.pods.value)
    enough = own.memory_bytes if own.is_enforced else own.device_bytes // meeting
    if need.bytes <= enough:
        return
    yield oversubscribed.say(
        group.place,
        case="need",
        need=need,
        share=share,
        own=own,
        device=gib(own.device_bytes),
        limit=f"MPS gives each pod {gib(own.memory_bytes)}"
        if own.is_enforced
        else f"{meeting} of its own pods may share one GPU, and their memory has no limit",
        alternative=larger_share(own, need.bytes),
        money=held(context, workload, group, kind=AmountKind.STANDING),
        provenance=need.provenance,
    )
