"""Models and GPUs that do not fit each other: far too big, or too small to start at all."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from gpufleet.cluster import Container, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.money.prices import GpuOffer, gpu_hour
from gpufleet_policies.rules.hardware import held as held_money
from gpufleet_policies.rules.hardware import waste
from gpufleet_policies.rules.model_memory import (
    ROOM,
    gib,
    memory_need,
    model_weights,
    sequence_cache,
)
from gpufleet_policies.rules.model_requests import (
    ModelRequest,
    Share,
    fits,
    held_memory,
    larger_share,
    runs,
)
from gpufleet_policies.rules.pools import all_pools
from gpufleet_policies.rules.published import published
from gpufleet_policies.rules.servers import says
from gpufleet_policies.rules.shapes import NodeShape, priced_pools
from gpufleet_policies.rules.written import written_rule

PREMIUM_NOMINAL_GB = 80
"""Nominal memory from which a card linked to others counts as premium: A100-80, H100 and up."""

VLLM_SHARE = Decimal("0.92")
"""Part of the memory that vLLM takes by default; older releases take 0.9
(vllm-project/vllm vllm/config/cache.py, gpu_memory_utilization)."""

MODEST_BYTES = 48 * 10**9
"""Memory of the largest card that is not a premium card: L40S, RTX 6000 Ada."""


@dataclass(frozen=True, slots=True)
class _Better:
    """An alternative device, and its saving."""

    limit: str
    alternative: str
    saved: Fraction
    """GPUs of the present kind, at their price."""
    price: Fraction | None
    stops: bool = False
    """Whether it may stop a deployment on declared evidence."""
    here: bool = False
    """Whether the alternative is a place that is declared in the same input."""


@written_rule("gpu-oversized-for-model")
def oversized(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """One question: does something cheaper hold the model? A latency or throughput goal mutes it,
    and a plan, which compared everything that the workload may run on.

    In this order: a share or slice the fleet offers; below 35 % of the memory fewer, smaller or
    cheaper GPUs; half the GPUs of a tensor-parallel copy with a fifth to spare; a usual card in
    place of one of the top class; slices of the same GPU for several replicas. It stops on a
    declared need only: a share below 35 % of the memory, anything else below 15 %. So a smaller
    model never gets a milder finding than a larger one. Without a declared need it is advice.
    """
    for request, share in fits(context, workload):
        found = (
            _shared(context, request, share)
            or _cheaper(context, request)
            or _narrower(request)
            or _usual_card(context, request)
            or _slices(context, request)
        )
        if found is None:
            continue
        hardware = request.hardware
        yield oversized.say(
            request.where,
            request=request,
            found=found,
            hardware=hardware,
            certain=found.stops,
            money=waste(workload, request.group.pods, found.saved, found.price, hardware.because),
            provenance=request.need.provenance,
        )


def _is_small(context: RuleContext, request: ModelRequest) -> bool:
    return request.ratio < Fraction(context.thresholds.oversized_ratio)


def _shared(context: RuleContext, request: ModelRequest, share: Share | None) -> _Better | None:
    """A share or slice that a pool of the fleet offers already."""
    if share is None:
        return None
    pool, part, saved, price = share
    shared = "" if part.replicas == 1 else f", one of {part.replicas} shares of a device"
    return _Better(
        f"{part.resource} of pool {pool.name} has {gib(part.memory_bytes or 0)}{shared}",
        f"request `{part.resource}: 1` instead of `{GPU}: {request.gpus}`",
        saved,
        price,
        stops=_is_small(context, request),
        here=True,
    )


def _cheaper(context: RuleContext, request: ModelRequest) -> _Better | None:
    """Fewer GPUs of the same kind, another pool of the fleet, or what the same cloud sells."""
    if not _is_small(context, request):
        return None
    found = _smaller(context, request)
    if found is None:
        return None
    words, cost, here = found
    saved = request.gpus - cost
    if saved < request.gpus * Fraction(context.thresholds.smallest_saving):
        return None
    # Several copies in one pod may be a throughput set-up on purpose.
    sure = request.copies == 1 and request.ratio < Fraction(
        context.thresholds.oversized_mandatory_ratio
    )
    limit = (
        f"{float(request.ratio):.0%} of the memory would be used, and at least "
        f"{context.thresholds.oversized_ratio:.0%} should"
    )
    return _Better(limit, words, saved, request.hardware.micro_usd_per_gpu_hour, sure, here)


def _smaller(context: RuleContext, request: ModelRequest) -> tuple[str, Fraction, bool] | None:
    """The cheapest way with fewer or smaller whole GPUs, its cost in present GPUs, and whether it
    is declared here."""
    wanted = request.need.bytes
    now = request.hardware.compared
    ways: list[tuple[Fraction, str, bool]] = []
    per_gpu = request.hardware.memory_bytes // wanted  # copies that fit one present GPU
    fewer = -(-request.copies // per_gpu) if per_gpu else request.gpus
    if fewer < request.gpus:
        words = f"request `{GPU}: {fewer}`"
        if request.width > 1:
            words += f" and a tensor parallel size of {max(1, fewer // request.copies)}"
        ways.append((Fraction(fewer), words, True))
    if now is not None and now > 0:
        for pool in context.fleet.pools if context.fleet is not None else ():
            price, share = gpu_hour(pool), pool.share(GPU)
            if price is None or share is None or not share.is_whole_gpu:
                continue
            enough = (share.memory_bytes or 0) >= wanted and runs(context, pool, request)
            if enough and price < now:
                cost = request.copies * price / now
                ways.append((cost, f"run on pool {pool.name} ({pool.gpu})", True))
        for machine in _others_here(context, wanted):
            price = machine.micro_usd_per_gpu_hour
            if price is not None and price < now:
                words = f"run on {machine.priced} ({machine.gpu})"
                ways.append((request.copies * price / now, words, True))
        offer = request.offer(context, wanted)
        # A pool the fleet already has is worth a little more than the market's cheapest.
        if offer is not None and not any(cost < request.gpus for cost, _, _ in ways):
            cost = request.copies * offer.micro_usd_per_gpu_hour / now
            ways.append((cost, f"use {request.copies} x {_named(request, offer)}", False))
    if not ways:
        return None
    cost, words, here = min(ways)
    return words, cost, here


def _others_here(context: RuleContext, wanted: int) -> Iterator[NodeShape]:
    """Machines of pools that are declared one by one, with whole GPUs that hold as much."""
    for pool in all_pools(context) if context.fleet is None else ():
        offer = published(context, pool)
        if offer is None or any(offer.layouts) or offer.replicas.get(GPU) != 1:
            continue
        for machine in priced_pools(context, pool):
            if (context.catalogue.gpu(machine.gpu).memory_bytes or 0) >= wanted:
                yield machine


def _named(request: ModelRequest, offer: GpuOffer) -> str:
    """An offer in words; its machine only where the cloud is that of the workload."""
    if request.hardware.cloud is not None:
        return str(offer)
    return f"{offer.gpu} ({gib(offer.memory_bytes)}, for example)"


def _narrower(request: ModelRequest) -> _Better | None:
    """Half the GPUs of a copy, or fewer, hold it with a fifth to spare. Not of copies that have
    more processes than the pod has GPUs: those do not start, and hold what is requested alone."""
    width, memory = request.width, request.hardware.memory_bytes
    wanted, enough = request.need.bytes * ROOM, request.width
    while enough % 2 == 0 and wanted <= Fraction(enough, 2) * memory:
        enough //= 2
    if enough == width or width * request.copies > request.gpus:
        return None
    return _Better(
        f"{enough} of {width} x {request.hardware.gpu} "
        f"{'holds' if enough == 1 else 'hold'} a copy with a fifth to spare, and traffic between "
        "GPUs costs speed",
        f"write a tensor parallel size of {enough} and request `{GPU}: {enough * request.copies}`, "
        "or declare the latency it must keep with gpufleet.dev/latency-slo-ms",
        Fraction((width - enough) * request.copies),
        request.hardware.micro_usd_per_gpu_hour,
    )


def _usual_card(context: RuleContext, request: ModelRequest) -> _Better | None:
    """A card of the top class for a model that one of the usual cards holds."""
    hardware = request.hardware
    card, now = context.catalogue.gpu(hardware.gpu), hardware.compared
    is_premium = (card.nominal_gb or 0) >= PREMIUM_NOMINAL_GB and card.nvlink_bytes_per_second
    wanted = int(request.need.bytes * ROOM)
    if not is_premium or request.gpus != request.copies or wanted > MODEST_BYTES or not now:
        return None
    offer = request.offer(context, wanted)
    if offer is None or offer.gpu == hardware.gpu:
        return None
    saved = request.gpus * (1 - offer.micro_usd_per_gpu_hour / now)
    if saved < request.gpus * Fraction(context.thresholds.smallest_saving):
        return None
    return _Better(
        f"a card of {gib(offer.memory_bytes)} holds it with a fifth to spare",
        f"use {request.gpus} x {_named(request, offer)}",
        saved,
        hardware.micro_usd_per_gpu_hour,
    )


def _slices(context: RuleContext, request: ModelRequest) -> _Better | None:
    """Slices of their own GPU that would hold the replicas, where the pool has no MIG layout."""
    pods = request.group.pods
    if not pods.is_known or pods.value < 2 or request.gpus != 1 or request.copies != 1:
        return None
    geometry = context.catalogue.gpu(request.hardware.gpu).mig
    if geometry is None:
        return None
    for profile in sorted(geometry.profiles.values(), key=lambda p: -p.max_instances):
        holds = (profile.usable_bytes or 0) >= request.need.bytes and not profile.attributes
        if not holds or profile.max_instances < 2:
            continue
        gpus = -(-pods.value // profile.max_instances)
        saved = Fraction(pods.value - gpus, pods.value)
        if saved < Fraction(context.thresholds.smallest_saving):
            return None
        return _Better(
            f"a {profile.name} slice has {gib(profile.usable_bytes or 0)}, and "
            f"{profile.max_instances} of them fit a GPU: {gpus} GPUs would hold {pods.value} pods",
            f"partition a pool into {profile.max_instances} x {profile.name} and request "
            f"`{profile.resource}: 1`",
            saved,
            request.hardware.micro_usd_per_gpu_hour,
        )
    return None


def _sizes_cache(container: Container) -> bool:
    """Whether options say more of the cache, or may: its format, a file of options."""
    options = ("--kv-cache", "--config", "--hf-overrides", "--hf-config", "--rope")
    return container.words.is_unknown or any(
        word.replace("_", "-").startswith(options) or "$" in word
        for word in container.words.found or ()
    )


@written_rule("model-exceeds-gpu-memory")
def too_small(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """The weights alone, without cache and workspace, compared with the memory of the pods of one
    copy: the part of a GPU that the server's arguments allow, else, or for a declared need, all.

    Of vLLM, the cache of one longest sequence too, without which it ends as well: what its
    arguments say, else what the model was made for. A named model of the catalogue and a declared
    size are mandatory; a size guessed from a name is advice. Silent for engines that keep weights
    in host memory. Where the GPU is unknown the largest of the catalogue counts: advice.
    """
    weights = model_weights(workload.intent, context.catalogue)
    if weights is None or workload.runs_to_completion:
        return
    for group in workload.pod_groups:
        held = held_memory(context, group)
        if held is None:
            continue
        container = next(c for c in group.containers if c.gpu_resources)
        share, room = container.launch.memory_share, held.bytes
        declared = workload.intent.min_gpu_memory_bytes.is_known
        engine = says(container, "vllm") and container.launch.serves
        taken = share.found or (VLLM_SHARE if engine and share.is_absent else None)
        if taken is not None and not declared:
            whole = held.bytes * (1 if held.grant is None else held.grant.replicas)
            room = min(room, int(whole * Fraction(taken)))
        tokens, cache = 0, 0
        if engine and not declared and weights.bytes <= room and not _sizes_cache(container):
            tokens, cache = sequence_cache(workload.intent, context.catalogue)
        if weights.bytes + cache <= room:
            continue
        said = "what vLLM takes" if share.is_absent else "by its arguments"
        part = "" if room == held.bytes else f" ({taken} of it, {said})"
        need = memory_need(workload.intent, context.catalogue)
        wanted = max(weights.bytes, 0 if need is None else need.bytes)
        shared = held.grant if held.grant is not None and held.grant.replicas > 1 else None
        yield too_small.say(
            container.where,
            words=f"requests {held.asked} = {held.what}, and the weights of the model take "
            f"{weights}" + (f", the cache of {tokens:,} tokens {gib(cache)}" if cache else ""),
            memory=gib(room),
            part=part,
            weights=weights,
            room=room,
            alternative=f"write --max-model-len {tokens * (room - weights.bytes) // cache} or "
            "less, or take more or larger GPUs with a tensor parallel size to match"
            if cache
            else larger_share(shared, wanted)
            if shared is not None
            else "take more or larger GPUs with a tensor parallel size to match, or a quantised "
            "model",
            certain=not (held.of_any),
            money=held_money(context, workload, group),
            provenance=weights.provenance,
        )
        return
