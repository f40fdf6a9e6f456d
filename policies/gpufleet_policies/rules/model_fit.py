"""Models on GPUs that are far too big for them."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet_policies.facts import Provenance, ShareFacts, WorkloadFacts
from gpufleet_policies.facts.workload import GPU
from gpufleet_policies.money import cheapest_offers, gpu_hour
from gpufleet_policies.money.prices import cloud_of
from gpufleet_policies.rules.context import RuleContext
from gpufleet_policies.rules.hardware import waste
from gpufleet_policies.rules.model_memory import gib
from gpufleet_policies.rules.model_requests import ModelRequest, fits, runs
from gpufleet_policies.rules.placement import described
from gpufleet_policies.rules.rule import Level, Needs, Violation, rule


@rule(
    "whole-gpu-where-slice-fits",
    "A whole GPU for a model that fits a slice or share the fleet already offers.",
    subject=WorkloadFacts,
    dev=Level.MANDATORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    mandatory_needs=Provenance.DECLARED,
    needs=[Needs.FLEET],
    formula="waste = pods x (GPUs x GPU-hour - part of a GPU x its GPU-hour) x 730 h",
    source="AWS EKS best practices, compute: GPU sharing",
)
def slicefits(context: RuleContext, workload: WorkloadFacts) -> Iterator[Violation]:
    """One model replica per pod, alternative at least 25 % cheaper.

    Stops the deployment on declared evidence, where the GPU would stay mostly empty. For several
    replicas on whole GPUs that MIG can partition, it advises to partition them.
    """
    for request, chosen in fits(context, workload):
        if chosen is None:
            yield from _uncut(context, workload, request)
            continue
        pool, share, saved, price = chosen
        yield Violation(
            where=request.where,
            found=request.found,
            limit=f"{described(share.resource, pool)} has {gib(share.memory_bytes or 0)}"
            + _isolation(share),
            alternative=f"ask for `{share.resource}: 1` instead of `{GPU}: {request.gpus}`",
            money=waste(workload, request.group.pods, saved, price, request.hardware.because),
            provenance=request.need.provenance,
            at_most=Level.MANDATORY
            if request.ratio < Fraction(context.thresholds.oversized_ratio)
            else Level.ADVISORY,
            evidence={
                "need_bytes": request.need.bytes,
                "gpu": request.hardware.gpu,
                "alternative": share.resource,
                "pool": pool.name,
            },
        )


def _uncut(
    context: RuleContext, workload: WorkloadFacts, request: ModelRequest
) -> Iterator[Violation]:
    """Replicas that slices of their own GPU would hold, where its pool has no MIG layout.

    Advice only, because the pool must be partitioned first; silent where a smaller GPU is better.
    """
    pods = request.group.pods
    if not pods.is_known or pods.value < 2 or request.gpus != 1 or request.copies != 1:
        return
    small = request.ratio < Fraction(context.thresholds.oversized_ratio)
    geometry = context.catalogue.gpu(request.hardware.gpu).mig
    if geometry is None or (small and cheaper_gpus(context, request) is not None):
        return
    for profile in sorted(geometry.profiles.values(), key=lambda p: -p.max_instances):
        holds = (profile.usable_bytes or 0) >= request.need.bytes and not profile.attributes
        if not holds or profile.max_instances < 2:
            continue
        gpus = -(-pods.value // profile.max_instances)
        saved = Fraction(pods.value - gpus, pods.value)
        if saved < Fraction(context.thresholds.smallest_saving):
            return
        price = request.hardware.micro_usd_per_gpu_hour
        yield Violation(
            where=request.where,
            found=request.found,
            limit=f"a {profile.name} slice has {gib(profile.usable_bytes or 0)}, and "
            f"{profile.max_instances} of them fit a GPU: {gpus} GPUs would hold {pods.value} pods",
            alternative=f"partition a pool into {profile.max_instances} x {profile.name} "
            f"and ask for `{profile.resource}: 1`",
            money=waste(workload, pods, saved, price, request.hardware.because),
            provenance=request.need.provenance,
            at_most=Level.ADVISORY,
            evidence={"need_bytes": request.need.bytes, "profile": profile.name},
        )
        return


def _isolation(share: ShareFacts) -> str:
    if share.replicas == 1:
        return ""
    return f", one of {share.replicas} shares of a device"


@rule(
    "gpu-oversized-for-model",
    "GPUs whose memory a model leaves mostly empty, where a smaller one is sold.",
    subject=WorkloadFacts,
    dev=Level.MANDATORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    mandatory_needs=Provenance.DECLARED,
    formula="waste = pods x (GPUs x GPU-hour - cost of the alternative) x 730 h",
    source="AWS EKS best practices, compute: other accelerated instance types",
    sees_pools=True,
)
def oversized(context: RuleContext, workload: WorkloadFacts) -> Iterator[Violation]:
    """Below 35 % of the memory; stops the deployment below 15 % on declared evidence only."""
    for request, share in fits(context, workload):
        if request.ratio >= Fraction(context.thresholds.oversized_ratio):
            continue
        if share is not None:
            continue  # whole-gpu-where-slice-fits names the better alternative
        found = cheaper_gpus(context, request)
        if found is None:
            continue
        alternative, saved = found
        # Several copies in one pod may be a throughput set-up on purpose.
        sure = request.copies == 1 and request.ratio < Fraction(
            context.thresholds.oversized_mandatory_ratio
        )
        price = request.hardware.micro_usd_per_gpu_hour
        yield Violation(
            where=request.where,
            found=request.found,
            limit=f"{float(request.ratio):.0%} of the memory would be used, and at least "
            f"{context.thresholds.oversized_ratio:.0%} should",
            alternative=alternative,
            money=waste(workload, request.group.pods, saved, price, request.hardware.because),
            provenance=request.need.provenance,
            at_most=Level.MANDATORY if sure else Level.ADVISORY,
            evidence={"need_bytes": request.need.bytes, "gpu": request.hardware.gpu},
        )


def cheaper_gpus(context: RuleContext, request: ModelRequest) -> tuple[str, Fraction] | None:
    """Fewer or smaller whole GPUs in words, and the GPUs saved; None where little is."""
    found = _smaller(context, request)
    if found is None:
        return None
    saved = request.gpus - found[1]
    if saved < request.gpus * Fraction(context.thresholds.smallest_saving):
        return None
    return found[0], saved


def _smaller(context: RuleContext, request: ModelRequest) -> tuple[str, Fraction] | None:
    """The cheapest way with fewer or smaller whole GPUs, and its cost in GPUs of the present kind.

    Fewer of the same, another pool of the fleet, or what the same cloud sells.
    """
    wanted = request.need.bytes
    now = request.hardware.micro_usd_per_gpu_hour
    ways: list[tuple[Fraction, str]] = []
    per_gpu = request.hardware.memory_bytes // wanted  # copies that fit one present GPU
    fewer = -(-request.copies // per_gpu) if per_gpu else request.gpus
    if fewer < request.gpus:
        words = f"ask for `{GPU}: {fewer}`"
        if request.width > 1:
            words += f" and a tensor parallel size of {max(1, fewer // request.copies)}"
        ways.append((Fraction(fewer), words))
    if now is not None and now > 0:
        for pool in context.fleet.pools if context.fleet is not None else ():
            price, share = gpu_hour(pool), pool.share(GPU)
            if price is None or share is None or not share.is_whole_gpu:
                continue
            enough = (pool.gpu_memory_bytes or 0) >= wanted and runs(context, pool, request)
            if enough and price < now:
                cost = request.copies * price / now
                ways.append((cost, f"run on pool {pool.name} ({pool.gpu})"))
        pool = request.hardware.pool
        cloud = cloud_of(pool, context.catalogue) if pool is not None else None
        offer = next(
            cheapest_offers(context.catalogue, wanted, cloud, request.need.capability), None
        )
        # A pool the fleet already has is worth a little more than the market's cheapest.
        if offer is not None and not any(cost < request.gpus for cost, _ in ways):
            cost = request.copies * offer.micro_usd_per_gpu_hour / now
            ways.append((cost, f"use {request.copies} x {offer}"))
    if not ways:
        return None
    cost, words = min(ways)
    return words, cost
