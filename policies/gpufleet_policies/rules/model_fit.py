"""Models on GPUs that are far too big for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from gpufleet_policies.facts import PodGroup, PoolFacts, Provenance, ShareFacts, Workload
from gpufleet_policies.facts.workload import GPU
from gpufleet_policies.money import cheapest_offers, gpu_hour, share_part
from gpufleet_policies.money.prices import cloud_of
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.hardware import Hardware, is_inference, waste, whole_gpu
from gpufleet_policies.rules.model_memory import MemoryNeed, gib, memory_need
from gpufleet_policies.rules.placement import described
from gpufleet_policies.rules.rule import Level, Needs, Violation, rule


@dataclass(frozen=True, slots=True)
class _Request:
    """A group that asks for whole GPUs for a model whose need is known."""

    group: PodGroup
    gpus: int
    hardware: Hardware
    need: MemoryNeed
    copies: int
    """Model replicas in one pod."""

    @property
    def where(self) -> str:
        container = next(c for c in self.group.containers if GPU in c.gpu_resources)
        return f"container {container.name} ({container.place})"

    @property
    def found(self) -> str:
        return (
            f"asks for {self.gpus} x {GPU} = {self.gpus} x {self.hardware.gpu} "
            f"({gib(self.hardware.memory_bytes)} each), and the model needs {self.need}"
            + (f" x {self.copies} copies" if self.copies > 1 else "")
        )

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.need.bytes * self.copies, self.gpus * self.hardware.memory_bytes)


def _requests(context: Context, workload: Workload) -> Iterator[_Request]:
    """Groups that can be judged: no service level, inference, exclusive GPUs, need known."""
    need = memory_need(workload.intent)
    if need is None or workload.intent.has_service_level or not is_inference(workload):
        return
    if workload.intent.parallel_replicas.is_unknown:
        return
    copies = workload.intent.parallel_replicas.or_default(1).value
    for group in workload.pod_groups:
        amount = group.pod_gpus(GPU)
        if not amount.is_known or amount.value < 1:
            continue
        hardware = whole_gpu(context, group)
        if hardware is not None:
            yield _Request(group, amount.value, hardware, need, copies)


_Share = tuple[PoolFacts, ShareFacts, Fraction, Fraction | None]


def _fits(context: Context, workload: Workload) -> list[tuple[_Request, _Share | None]]:
    """Every request with the cheapest share of the fleet that would do; both rules need them."""
    key = ("fits", id(workload))
    if key not in context.memo:
        context.memo[key] = [
            (request, _cheapest_share(context, request) if context.fleet is not None else None)
            for request in _requests(context, workload)
        ]
    return context.memo[key]


@rule(
    "whole-gpu-where-slice-fits",
    "A whole GPU for a model that fits a slice or share the fleet already offers.",
    subject=Workload,
    dev=Level.MANDATORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    mandatory_needs=Provenance.DECLARED,
    needs=[Needs.FLEET],
    formula="waste = pods x (GPUs x GPU-hour - part of a GPU x its GPU-hour) x 730 h",
    source="AWS EKS best practices, compute: GPU sharing",
)
def slice_fits(context: Context, workload: Workload) -> Iterator[Violation]:
    """One model replica per pod, alternative at least 25 % cheaper.

    Stops the deployment on declared evidence, where the GPU would stay mostly empty.
    """
    for request, chosen in _fits(context, workload):
        if chosen is None:
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


def _runs(context: Context, pool: PoolFacts, request: _Request) -> bool:
    """Whether the pool's GPU has kernels for the model's format."""
    found = context.catalogue.gpu(pool.gpu).compute_capability
    return found is not None and found >= request.need.capability


def _isolation(share: ShareFacts) -> str:
    if share.replicas == 1:
        return ""
    return f", one of {share.replicas} shares of a device"


def _cheapest_share(context: Context, request: _Request) -> _Share | None:
    """Pool, share, saved amount, and the price of that amount's unit; the cheapest that fits.

    With prices the amount is in GPUs of the present pool at their price; without, the same GPU
    must offer the share, and the amount is GPU-hours.
    """
    assert context.fleet is not None
    if request.copies != 1:
        return None
    now = request.hardware.micro_usd_per_gpu_hour
    pods = request.group.pods
    best: tuple[Fraction, str, PoolFacts, ShareFacts] | None = None
    for pool in context.fleet.pools:
        if not _runs(context, pool, request):
            continue
        for share in pool.shares:
            fits = share.memory_bytes is not None and (share.memory_bytes >= request.need.bytes)
            room = share.per_node * pool.maximum_nodes
            if share.is_whole_gpu or not fits or (pods.is_known and pods.value > room):
                continue
            part = share_part(pool, share, context.catalogue)
            then = gpu_hour(pool)
            if now is not None and then is not None and now > 0:
                relative = part * then / now
            elif pool.gpu == request.hardware.gpu:
                relative = part
            else:
                continue
            if best is None or (relative, pool.name) < best[:2]:
                best = (relative, pool.name, pool, share)
    if best is None:
        return None
    saved = request.gpus - best[0]
    if saved < request.gpus * Fraction(context.thresholds.smallest_saving):
        return None
    return best[2], best[3], saved, now


@rule(
    "gpu-oversized-for-model",
    "GPUs whose memory a model leaves mostly empty, where a smaller one is sold.",
    subject=Workload,
    dev=Level.MANDATORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    mandatory_needs=Provenance.DECLARED,
    formula="waste = pods x (GPUs x GPU-hour - cost of the alternative) x 730 h",
    source="AWS EKS best practices, compute: other accelerated instance types",
)
def oversized(context: Context, workload: Workload) -> Iterator[Violation]:
    """Below 35 % of the memory; stops the deployment below 15 % on declared evidence only."""
    for request, share in _fits(context, workload):
        if request.ratio >= Fraction(context.thresholds.oversized_ratio):
            continue
        if share is not None:
            continue  # whole-gpu-where-slice-fits names the better alternative
        found = _smaller(context, request)
        if found is None:
            continue
        alternative, relative = found
        saved = request.gpus - relative
        if saved < request.gpus * Fraction(context.thresholds.smallest_saving):
            continue
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


def _smaller(context: Context, request: _Request) -> tuple[str, Fraction] | None:
    """The cheapest way with fewer or smaller whole GPUs, and its cost in GPUs of the present kind.

    Fewer of the same, another pool of the fleet, or what the same cloud sells.
    """
    wanted = request.need.bytes
    now = request.hardware.micro_usd_per_gpu_hour
    ways: list[tuple[Fraction, str]] = []
    per_gpu = request.hardware.memory_bytes // wanted  # copies that fit one present GPU
    fewer = -(-request.copies // per_gpu) if per_gpu else request.gpus
    if fewer < request.gpus:
        ways.append((Fraction(fewer), f"ask for `{GPU}: {fewer}`"))
    if now is not None and now > 0:
        for pool in context.fleet.pools if context.fleet is not None else ():
            price, share = gpu_hour(pool), pool.share(GPU)
            if price is None or share is None or not share.is_whole_gpu:
                continue
            enough = (pool.gpu_memory_bytes or 0) >= wanted and _runs(context, pool, request)
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
