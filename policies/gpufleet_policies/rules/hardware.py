"""What GPU a workload gets for what it asks, and what that costs."""

from dataclasses import dataclass
from fractions import Fraction

from gpufleet.catalogue import UnknownKeyError
from gpufleet_policies.facts import Fact, PodGroup, PoolFacts, Provenance, Workload
from gpufleet_policies.facts.workload import GPU
from gpufleet_policies.money import Kind, Money, cheapest_offers, gpu_hour
from gpufleet_policies.money.amounts import usd_hour
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.placement import (
    GPU_NAME_LABELS,
    PRODUCT_LABEL,
    candidates,
    offering,
)


@dataclass(frozen=True, slots=True)
class Hardware:
    """A whole GPU a pod of the workload gets."""

    gpu: str
    memory_bytes: int
    micro_usd_per_gpu_hour: Fraction | None
    because: str
    """Where GPU and price come from, in words."""
    pool: PoolFacts | None
    """None: named by a label only, no pool of it is known."""


def whole_gpu(context: Context, group: PodGroup) -> Hardware | None:
    """The GPU behind `nvidia.com/gpu`, or None where it is shared, mixed up or not known.

    Where several pools fit, the cheapest counts: a verdict must hold wherever the pod lands.
    """
    if context.fleet is not None:
        pools = offering(candidates(context.fleet, group, context.catalogue), GPU)
        shares = [pool.share(GPU) for pool in pools]
        if not pools or not all(share is not None and share.is_whole_gpu for share in shares):
            return None
        pool = min(pools, key=lambda p: (gpu_hour(p) is None, gpu_hour(p) or 0, p.name))
        memory = pool.gpu_memory_bytes
        if memory is None:
            return None
        price = gpu_hour(pool)
        return Hardware(pool.gpu, memory, price, priced(pool), pool)
    return _from_labels(context, group)


def _from_labels(context: Context, group: PodGroup) -> Hardware | None:
    catalogue = context.catalogue
    for key, values in group.node_labels.items():
        if key not in (PRODUCT_LABEL, *GPU_NAME_LABELS) or len(values) != 1:
            continue
        name = next(iter(values))
        if "-MIG-" in name or name.endswith("-SHARED"):
            return None
        try:
            gpu = (
                catalogue.gpu_by_product_label(name)
                if key == PRODUCT_LABEL
                else catalogue.find_gpu(name)
            )
        except UnknownKeyError:
            return None
        if gpu.memory_bytes is None:
            return None
        offers = [o for o in cheapest_offers(catalogue, 0, None) if o.gpu == gpu.key]
        if not offers:
            return Hardware(gpu.key, gpu.memory_bytes, None, f"node label {key}", None)
        price = offers[0].micro_usd_per_gpu_hour
        because = f"node label {key}; {offers[0].instance} at {usd_hour(price)} per GPU"
        return Hardware(gpu.key, gpu.memory_bytes, price, because, None)
    return None


def priced(pool: PoolFacts) -> str:
    """A pool and the price of its GPUs in words, the basis of a figure."""
    price = gpu_hour(pool)
    return f"pool {pool.name}" + ("" if price is None else f", {usd_hour(price)} per GPU")


def waste(
    workload: Workload, pods: Fact[int], gpus: Fraction, price: Fraction | None, basis: str
) -> Money | None:
    """What a number of GPUs per pod, at a price each, comes to for all pods.

    None when the number of pods is not known. `price` is micro-dollars per GPU-hour.
    """
    if not pods.is_known:
        return None
    count = pods.value
    return Money(
        Kind.WASTE,
        None if price is None else gpus * price * count,
        gpus * count,
        f"{count} pod{'' if count == 1 else 's'}; {basis}",
        all_month=not workload.runs_to_completion,
    )


def is_inference(workload: Workload) -> bool:
    """Whether a workload serves or is used by a person: said so, or it runs for ever."""
    mode = workload.intent.mode
    if mode.is_known:
        return mode.value in ("inference", "interactive")
    return not mode.is_unknown and not workload.runs_to_completion


def weakest(*evidence: Provenance) -> Provenance:
    """The provenance of a verdict: that of its weakest part."""
    return min(evidence)
