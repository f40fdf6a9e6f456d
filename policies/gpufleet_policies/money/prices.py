"""Prices of GPUs, slices and alternatives, from pools and the catalogue."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from gpufleet.catalogue import Catalogue, UnknownKeyError
from gpufleet.cluster.fleet import PoolFacts


@dataclass(frozen=True, slots=True)
class GpuOffer:
    """A whole GPU for rent."""

    gpu: str
    instance: str
    memory_bytes: int
    micro_usd_per_gpu_hour: Fraction
    gpus: int
    region: str | None = None
    """Platform and region of the price."""

    def __str__(self) -> str:
        return f"{self.gpu} ({self.memory_bytes / (1 << 30):.0f} GiB, {self.instance})"


def gpu_hour(pool: PoolFacts) -> Fraction | None:
    """Micro-dollars for one device of a pool and hour: the node's price over its GPUs.

    The whole node is booked on its GPUs. None when the pool has no known price.
    """
    if not pool.hourly_micro_usd.is_known:
        return None
    return Fraction(pool.hourly_micro_usd.value, pool.gpus_per_node)


def cloud_of(pool: PoolFacts, catalogue: Catalogue) -> str | None:
    """Seller of the pool's first machine; None for own hardware."""
    for machine in pool.machines:
        try:
            return catalogue.instance(machine).cloud
        except UnknownKeyError:
            return None
    return None


def cheapest_offers(
    catalogue: Catalogue,
    memory_bytes: int,
    cloud: str | None,
    capability: tuple[int, int] = (0, 0),
) -> Iterator[GpuOffer]:
    """Whole NVIDIA GPUs with at least this much memory on machines of a cloud, cheapest first.

    On-demand list prices per GPU, the machine's whole price over its GPUs; unpriced machines are
    left out. `cloud` None: any. `capability` is the oldest compute capability that will do.
    """
    for offer, seller, oldest in _all_offers(catalogue):
        enough = offer.memory_bytes >= memory_bytes and oldest >= capability
        if enough and cloud in (None, seller):
            yield offer


@lru_cache(maxsize=8)
def _all_offers(catalogue: Catalogue) -> tuple[tuple[GpuOffer, str, tuple[int, int]], ...]:
    """Every whole GPU with a price, cheapest first, with seller and compute capability."""
    offers: list[tuple[GpuOffer, str, tuple[int, int]]] = []
    for instance in catalogue.instances.values():
        count, price = instance.accelerator.count, instance.on_demand.micro_usd_per_hour
        gpu = catalogue.gpu(instance.accelerator.gpu)
        if instance.fractional or not count or price is None or gpu.vendor != "nvidia":
            continue
        memory = catalogue.device_memory(instance)
        if memory is None:
            continue
        region = instance.on_demand.region
        offer = GpuOffer(gpu.key, instance.name, memory, Fraction(price, count), count, region)
        offers.append((offer, instance.cloud, gpu.compute_capability or (0, 0)))
    return tuple(sorted(offers, key=lambda row: (row[0].micro_usd_per_gpu_hour, row[0].instance)))
