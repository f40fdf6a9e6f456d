"""Models on somewhat more, or more expensive, GPUs than their memory needs."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet_policies.facts import Provenance, WorkloadFacts
from gpufleet_policies.facts.workload import GPU
from gpufleet_policies.money import cheapest_offers
from gpufleet_policies.money.prices import cloud_of
from gpufleet_policies.rules.context import RuleContext
from gpufleet_policies.rules.hardware import waste
from gpufleet_policies.rules.model_memory import gib
from gpufleet_policies.rules.model_requests import fits
from gpufleet_policies.rules.rule import Level, Violation, rule

PREMIUM_NOMINAL_GB = 80
"""Nominal memory from which a card linked to others counts as premium: A100-80, H100 and up."""

MODEST_BYTES = 48 * 10**9
"""Largest card that still is no premium one: L40S, RTX 6000 Ada."""

ROOM = Fraction(6, 5)
"""A model must fit with a fifth to spare."""


@rule(
    "premium-gpu-for-small-model",
    "A card of the top class for a model that one of the usual cards holds.",
    subject=WorkloadFacts,
    dev=Level.MANDATORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    mandatory_needs=Provenance.DECLARED,
    formula="waste = pods x (GPU-hour - GPU-hour of the cheapest card that holds it) x 730 h",
    source="AWS EKS best practices, compute: other accelerated instance types and sizes",
    sees_pools=True,
)
def premium_card(context: RuleContext, workload: WorkloadFacts) -> Iterator[Violation]:
    """One GPU per copy; a fifth of the smaller card stays free; an A100-80 or above is premium.

    Leaves to `gpu-oversized-for-model` and `whole-gpu-where-slice-fits` what they already name.
    """
    for request, share in fits(context, workload):
        hardware = request.hardware
        card = context.catalogue.gpu(hardware.gpu)
        is_premium = (card.nominal_gb or 0) >= PREMIUM_NOMINAL_GB and card.nvlink_bytes_per_second
        if not is_premium or share is not None or request.gpus != request.copies:
            continue
        if request.ratio < Fraction(context.thresholds.oversized_ratio):
            continue
        wanted, now = int(request.need.bytes * ROOM), hardware.micro_usd_per_gpu_hour
        if wanted > MODEST_BYTES or not now:
            continue
        cloud = cloud_of(hardware.pool, context.catalogue) if hardware.pool is not None else None
        offer = next(
            cheapest_offers(context.catalogue, wanted, cloud, request.need.capability), None
        )
        if offer is None or offer.gpu == hardware.gpu:
            continue
        saved = request.gpus * (1 - offer.micro_usd_per_gpu_hour / now)
        if saved < request.gpus * Fraction(context.thresholds.smallest_saving):
            continue
        yield Violation(
            where=request.where,
            found=request.found,
            limit=f"a card of {gib(offer.memory_bytes)} holds it with a fifth to spare",
            alternative=f"use {request.gpus} x {offer}",
            money=waste(workload, request.group.pods, saved, now, hardware.because),
            provenance=request.need.provenance,
            evidence={"need_bytes": request.need.bytes, "gpu": hardware.gpu, "offer": offer.gpu},
        )


@rule(
    "tensor-parallel-wider-than-needed",
    "A model spread over twice the GPUs its memory needs, or more.",
    subject=WorkloadFacts,
    dev=Level.ADVISORY,
    prod=Level.ADVISORY,
    strict=Level.ADVISORY,
    formula="waste = pods x (tp x pp - the smallest tp x pp that holds it) x GPU-hour x 730 h",
    source="planner arithmetic: a copy of the model needs its weights and cache once",
    sees_pools=True,
)
def too_wide(context: RuleContext, workload: WorkloadFacts) -> Iterator[Violation]:
    """Half the GPUs would hold the model with a fifth to spare, and no latency is promised.

    Leaves to `gpu-oversized-for-model` and `whole-gpu-where-slice-fits` what they already name.
    """
    for request, share in fits(context, workload):
        width = request.width
        if width < 2 or share is not None:
            continue
        if request.ratio < Fraction(context.thresholds.oversized_ratio):
            continue
        memory = request.hardware.memory_bytes
        wanted = request.need.bytes * ROOM
        if wanted > Fraction(width, 2) * memory:
            continue
        enough = width
        while enough % 2 == 0 and wanted <= Fraction(enough, 2) * memory:
            enough //= 2
        saved = Fraction((width - enough) * request.copies)
        yield Violation(
            where=request.where,
            found=f"spreads one copy of the model over {width} x {request.hardware.gpu}, and it "
            f"needs {request.need}",
            limit=f"{enough} {'holds' if enough == 1 else 'hold'} it with a fifth to spare, and "
            "traffic between GPUs costs speed",
            alternative=f"write a tensor parallel size of {enough} and ask for "
            f"`{GPU}: {enough * request.copies}`, or declare the latency it must keep with "
            "gpufleet.dev/latency-slo-ms",
            money=waste(
                workload,
                request.group.pods,
                saved,
                request.hardware.micro_usd_per_gpu_hour,
                request.hardware.because,
            ),
            provenance=request.need.provenance,
            evidence={"width": width, "enough": enough, "need_bytes": request.need.bytes},
        )
