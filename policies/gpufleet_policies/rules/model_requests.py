"""Whole GPUs requested for a model whose need is known, and the sufficient share of the fleet."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.cluster import PodGroup, PoolFacts, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.partition.grant import Grant
from gpufleet.partition.shares import mps_memory
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.money.prices import GpuOffer, cheapest_offers, gpu_hour
from gpufleet_policies.rules.grants import PoolGrant, grants
from gpufleet_policies.rules.hardware import WorkloadGpu, gpu_of_labels, whole_gpu
from gpufleet_policies.rules.model_memory import MemoryNeed, gib, memory_need
from gpufleet_policies.rules.purpose import is_inference
from gpufleet_policies.rules.shapes import shapes


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A group that requests whole GPUs for a model whose need is known."""

    group: PodGroup
    gpus: int
    hardware: WorkloadGpu
    need: MemoryNeed
    copies: int
    """Model replicas in one pod."""

    @property
    def width(self) -> int:
        """GPUs over which one copy is reported to be spread; 1 if not stated."""
        launches = [c.launch for c in self.group.containers if GPU in c.gpu_resources]
        if len(launches) != 1 or launches[0].spreads:
            return 1
        tensor, pipeline = launches[0].tensor, launches[0].pipeline
        if tensor.is_unknown or pipeline.is_unknown:
            return 1
        return (tensor.found or 1) * (pipeline.found or 1)

    @property
    def where(self) -> str:
        """The requesting container."""
        container = next(c for c in self.group.containers if GPU in c.gpu_resources)
        return container.where

    @property
    def found(self) -> str:
        """Its request and its need, in words."""
        return (
            f"requests {self.gpus} x {GPU} = {self.gpus} x {self.hardware.gpu} "
            f"({gib(self.hardware.memory_bytes)} each), and the model needs {self.need}"
            + (f" x {self.copies} copies" if self.copies > 1 else "")
        )

    def offer(self, context: RuleContext, wanted: int) -> GpuOffer | None:
        """The cheapest GPU with this memory from the same cloud, or from any."""
        return next(
            cheapest_offers(context.catalogue, wanted, self.hardware.cloud, self.need.capability),
            None,
        )

    @property
    def ratio(self) -> Fraction:
        """Part of the memory requested that is needed."""
        return Fraction(self.need.bytes * self.copies, self.gpus * self.hardware.memory_bytes)


def _requests(context: RuleContext, workload: WorkloadFacts) -> Iterator[ModelRequest]:
    """Groups that can be checked: size not chosen, inference, exclusive GPUs, need known."""
    if workload.intent.has_chosen_size or not is_inference(workload):
        return
    need = memory_need(workload.intent, context.catalogue)
    if need is None or workload.intent.parallel_replicas.is_unknown:
        return
    copies = workload.intent.parallel_replicas.or_default(1).value
    for group in workload.pod_groups:
        amount = group.pod_gpus(GPU)
        if not amount.is_known or amount.value < 1:
            continue
        if group.together.is_unknown or group.together.value != 1:
            continue  # one copy may be on several pods: the part of each pod is not known
        hardware = whole_gpu(context, group)
        if hardware is not None:
            yield ModelRequest(group, amount.value, hardware, need, copies)


_MIG_MEMORY = re.compile(r"nvidia\.com/mig-\d+g\.(\d+)gb")


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """Request of the pods of one copy."""

    asked: str
    """The request in words."""
    bytes: int
    """Maximum memory that they can allocate together."""
    what: str
    """The devices in words."""
    grant: Grant | None = None
    """Grant of one unit of the request; None where only its name or the GPU is known."""
    of_any: bool = False
    """Whether the GPU is not known, and the largest of the catalogue counts."""


def held_memory(context: RuleContext, group: PodGroup) -> HeldMemory | None:
    """Memory that the pods of one copy can allocate on each pool that fits.

    None if the number of pods is unknown, or the memory of a GPU that they may land on.
    """
    if len(group.gpu_resources) != 1 or not group.together.is_known:
        return None
    resource = group.gpu_resources[0]
    amount = group.pod_gpus(resource)
    if not amount.is_known or amount.value < 1:
        return None
    count, pods = amount.value * group.together.value, group.together.value
    asked = f"{amount.value} x {resource}" + (f" in each of {pods} pods" if pods > 1 else "")
    found = grants(context, group, resource)
    if found:
        return _granted(found, amount.value, pods, asked)
    nominal = _MIG_MEMORY.match(resource)
    if nominal is not None:
        each = int(nominal[1]) << 30
        return HeldMemory(asked, each * count, f"{count} x {gib(each)}")
    gpu = _largest_gpu(context, group) if resource == GPU and context.fleet is None else None
    if gpu is None:
        return None
    name, each, is_known = gpu
    what = f"{count} x {name} ({gib(each)} each)" + ("" if is_known else " at most")
    return HeldMemory(asked, each * count, what, of_any=not is_known)


def _granted(found: tuple[PoolGrant, ...], amount: int, pods: int, asked: str) -> HeldMemory | None:
    sizes = [one.grant.most_bytes for one in found]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    each, largest = max(zip(known, found, strict=True), key=lambda pair: pair[0])
    own = largest.grant
    # More shares of one device give a container no more, but where they add up.
    count = pods * (amount if own.replicas == 1 or largest.adds_up else 1)
    device = own.gpu if own.profile is None else f"{own.profile} of {own.gpu}"
    if own.replicas == 1:
        words = f"{count} x {device} ({gib(each)} each)"
    elif own.is_enforced:
        words = f"{count} x {gib(each)}, one of {own.replicas} shares of {device} by MPS"
    else:
        words = f"{count} x {device} ({gib(each)}), which {own.replicas} programs share by time"
    return HeldMemory(asked, each * count, words, own)


def larger_share(shared: Grant, needed: int) -> str:
    """Remedy where a share of a device is too small for a model of this size."""
    device = shared.gpu if shared.profile is None else f"{shared.profile} slice"
    fit = (shared.device_bytes or 0) // needed
    while fit > 1 and mps_memory(shared.device_bytes or 0, fit) < needed:
        fit -= 1
    if fit > 1:
        return f"divide each {device} into {fit} shares or fewer: each holds {gib(needed)}"
    if fit == 1:
        return f"request a {device} that is not shared"
    return "take a larger GPU, or several whole ones with a tensor parallel size to match"


def possible_gpus(context: RuleContext, group: PodGroup) -> list[str]:
    """GPUs that the pods may land on; empty: not known."""
    labelled = gpu_of_labels(context.catalogue, group)
    return [labelled.key] if labelled else sorted({s.gpu for s in shapes(context, group, GPU)})


def _largest_gpu(context: RuleContext, group: PodGroup) -> tuple[str, int, bool] | None:
    """The GPU with the most memory that the pods may run on, of all where nothing says which, and
    whether anything does; None if the memory of one is unknown.

    For pools with unknown sharing: no share has more.
    """
    names = possible_gpus(context, group)
    rows = [context.catalogue.gpu(name) for name in names or context.catalogue.gpus]
    known = [(r.memory_bytes, r.key) for r in rows if r.memory_bytes and r.vendor == "nvidia"]
    if names and len(known) < len(rows):
        return None
    size, name = max(known)
    return name, size, bool(names)


Share = tuple[PoolFacts, Grant, Fraction, Fraction | None]


@once
def fits(context: RuleContext, workload: WorkloadFacts) -> list[tuple[ModelRequest, Share | None]]:
    """Every request with the cheapest share of the fleet that would do; several rules need them."""
    return [
        (request, _cheapest_share(context, request) if context.fleet is not None else None)
        for request in _requests(context, workload)
    ]


def runs(context: RuleContext, pool: PoolFacts, request: ModelRequest) -> bool:
    """Whether the pool's GPU has kernels for the model's format, and its machines are not reclaimed
    where the present ones stay."""
    own = request.hardware.pool
    if "spot" in pool.capacity and (own is None or "spot" not in own.capacity):
        return False
    found = context.catalogue.gpu(pool.gpu).compute_capability
    return found is not None and found >= request.need.capability


def _cheapest_share(context: RuleContext, request: ModelRequest) -> Share | None:
    """Pool, share, saved amount, and the price of that amount's unit; the cheapest that fits.

    With prices the amount is in GPUs of the present pool at their price; without, the same GPU
    must offer the share, and the amount is GPU-hours.
    """
    assert context.fleet is not None
    if request.copies != 1:
        return None
    now = request.hardware.micro_usd_per_gpu_hour
    pods = request.group.pods
    best: tuple[Fraction, str, PoolFacts, Grant] | None = None
    for pool in context.fleet.pools:
        if not runs(context, pool, request):
            continue
        for share in pool.shares:
            fits = share.memory_bytes is not None and (share.memory_bytes >= request.need.bytes)
            room = share.per_node * pool.maximum_nodes
            if share.is_whole_gpu or not fits or (pods.is_known and pods.value > room):
                continue
            part, then = share.part, gpu_hour(pool)
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
