"""The GPU that a workload gets for its request, and its cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter

from gpufleet.catalogue import Catalogue, Gpu
from gpufleet.cluster import Fact, PodGroup, PoolFacts, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.findings.money import AmountKind, Money, usd_hour
from gpufleet.partition.grant import Division, Grant, grant
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.money.prices import GpuOffer, cheapest_offers, cloud_of, gpu_hour
from gpufleet_policies.names import names
from gpufleet_policies.rules.placement import (
    GPU_LABELS,
    candidates,
    gpu_requests,
    named_gpu,
    offering,
    pools_for,
)
from gpufleet_policies.rules.published import published
from gpufleet_policies.rules.shapes import NodeShape, offers, shapes


@dataclass(frozen=True, slots=True)
class WorkloadGpu:
    """A whole GPU a pod of the workload gets."""

    gpu: str
    memory_bytes: int
    micro_usd_per_gpu_hour: Fraction | None
    because: str
    """Source of GPU and price, in words."""
    pool: PoolFacts | None
    """None: named by a label only, no pool of it is known."""
    cloud: str | None = None
    """Seller: the price is that of this cloud, or there is none."""
    compared: Fraction | None = None
    """Price per GPU-hour to compare alternatives with; findings claim no money of it. If the cloud
    is unknown, the lowest price of any."""


def whole_gpu(context: RuleContext, group: PodGroup) -> WorkloadGpu | None:
    """The GPU behind `nvidia.com/gpu`, or None where it is shared, ambiguous or unknown.

    Where several pools fit, the cheapest counts: a verdict must hold on each of them.
    """
    if context.fleet is not None:
        pools = offering(candidates(context, group), GPU)
        shares = [pool.share(GPU) for pool in pools]
        if not pools or not all(share is not None and share.is_whole_gpu for share in shares):
            return None
        pool = min(pools, key=lambda p: (gpu_hour(p) is None, gpu_hour(p) or 0, p.name))
        share = pool.share(GPU)
        memory = None if share is None else share.memory_bytes
        if memory is None:
            return None
        price = gpu_hour(pool)
        cloud = cloud_of(pool, context.catalogue)
        return WorkloadGpu(pool.gpu, memory, price, priced(pool), pool, cloud, price)
    if any(label in group.node_labels for label in SHARING_LABELS):
        return None
    return _from_labels(context, group) or _of_declared_pools(context, group)


@lru_cache(maxsize=128)
def _cheapest_of(gpu: str, catalogue: Catalogue, cloud: str | None) -> GpuOffer | None:
    """The cheapest way to buy one GPU of a kind from a cloud; None: from any."""
    return next((o for o in cheapest_offers(catalogue, 0, cloud) if o.gpu == gpu), None)


_REGION_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def _seller(group: PodGroup, catalogue: Catalogue) -> str | None:
    """The cloud whose labels the pods require of their nodes; None where none or several are."""
    found = {
        cloud
        for cloud, row in catalogue.clouds.items()
        if row.labels and any(label.startswith(row.labels) for label in group.node_labels)
    }
    return found.pop() if len(found) == 1 else None


def _is_elsewhere(group: PodGroup, region: str | None) -> bool:
    """Whether the pods require another region than the price is of."""
    values = [one for key in _REGION_LABELS for one in group.node_labels.get(key, ())]
    return bool(values) and not any(region and one.startswith(region) for one in values)


GKE_STRATEGY = "cloud.google.com/gke-gpu-sharing-strategy"
"""Node label: `mps` or `time-sharing`."""
_GKE_CLIENTS = "cloud.google.com/gke-max-shared-clients-per-gpu"
GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
SHARING_LABELS = names("label of shared GPUs")
"""Labels of nodes with shared or partitioned GPUs: one requested GPU is only a part there."""


def gpu_of_labels(catalogue: Catalogue, group: PodGroup) -> Gpu | None:
    """The GPU that a required label names; None without one, or for a slice."""
    for key, values in group.node_labels.items():
        if key in GPU_LABELS and len(values) == 1:
            name = next(iter(values))
            cut = "-MIG-" in name or name.endswith("-SHARED")
            return None if cut else named_gpu(catalogue, key, name)
    return None


def grant_of_labels(catalogue: Catalogue, group: PodGroup) -> Grant | None:
    """Facts in the node labels that pods require: the GPU and, on GKE, its sharing."""
    gpu = gpu_of_labels(catalogue, group)
    if gpu is None:
        return None
    written = {key: next(iter(values)) for key, values in group.node_labels.items() if values}
    clients = written.get(_GKE_CLIENTS, "")
    division = Division(
        int(clients) if clients.isdecimal() and int(clients) else 1,
        is_mps=written.get(GKE_STRATEGY) == "mps" and clients.isdecimal(),
    )
    profile = written.get(GKE_PARTITION)
    return grant(gpu, 1, profile=profile, resource=GPU, division=division)


def _from_labels(context: RuleContext, group: PodGroup) -> WorkloadGpu | None:
    catalogue = context.catalogue
    gpu = gpu_of_labels(catalogue, group)
    if gpu is None or gpu.memory_bytes is None:
        return None
    here = [one for one in offers(context, group, GPU) if one.gpu == gpu.key]
    if here:
        price = here[0].micro_usd_per_gpu_hour
        seller = catalogue.instance(here[0].name).cloud
        because = _chosen(here)
        return WorkloadGpu(gpu.key, gpu.memory_bytes, price, because, None, seller, price)
    cloud = _seller(group, catalogue)
    offer = _cheapest_of(gpu.key, catalogue, cloud)
    price = None if offer is None else offer.micro_usd_per_gpu_hour
    if offer is None or price is None or cloud is None or _is_elsewhere(group, offer.region):
        because = f"{gpu.key} by its label"
        return WorkloadGpu(gpu.key, gpu.memory_bytes, None, because, None, cloud, price)
    because = f"{gpu.key} by its label; {offer.instance} at {usd_hour(price)} per GPU"
    if offer.region:
        because += f" in {offer.region}"
    return WorkloadGpu(gpu.key, gpu.memory_bytes, price, because, None, cloud, price)


def _of_declared_pools(context: RuleContext, group: PodGroup) -> WorkloadGpu | None:
    """For separately declared pools, if each of them certainly assigns whole GPUs."""
    pools = pools_for(context, group) if context.surroundings is not None else ()
    offers = [published(context, pool) for pool in pools]
    for offer in offers:
        if offer is None or offer.replicas.get(GPU, 1) != 1 or any(offer.layouts):
            return None
    cheapest = _cheapest_machine(context, shapes(context, group, GPU)) if offers else None
    if cheapest is None or cheapest.micro_usd_per_gpu_hour is None:
        return None
    memory = context.catalogue.gpu(cheapest.gpu).memory_bytes
    if memory is None:
        return None
    price = cheapest.micro_usd_per_gpu_hour
    cloud = context.catalogue.instance(cheapest.name).cloud
    return WorkloadGpu(cheapest.gpu, memory, price, _chosen([cheapest]), None, cloud, price)


def _chosen(machines: Sequence[NodeShape]) -> str:
    """The first of some machines with its price, and of how many it is the cheapest."""
    first = machines[0]
    names = {one.name for one in machines}
    more = f", the cheapest of {len(names)} machine types here" if len(names) > 1 else ""
    return f"{first.priced}, {usd_hour(first.micro_usd_per_gpu_hour or 0)} per GPU{more}"


def priced(pool: PoolFacts) -> str:
    """A pool and the price of its GPUs in words, the basis of a figure."""
    price = gpu_hour(pool)
    return f"pool {pool.name}" + ("" if price is None else f", {usd_hour(price)} per GPU")


def held(
    context: RuleContext,
    workload: WorkloadFacts,
    group: PodGroup,
    part: Fraction = Fraction(1),
    kind: AmountKind = AmountKind.WASTE,
) -> Money | None:
    """Cost of the GPUs of a group's pods, or of a part of each pod's; None if unknown.

    The cheapest pool that fits counts: a figure must hold on each of them.
    """
    for resource, amount in gpu_requests(group):
        if context.fleet is not None:
            pools = offering(candidates(context, group), resource)
            if pools:
                pool = min(pools, key=lambda p: (gpu_hour(p) is None, gpu_hour(p) or 0, p.name))
                share = pool.share(resource)
                assert share is not None
                size = amount * share.part * part
                return waste(workload, group.pods, size, gpu_hour(pool), priced(pool), kind)
        if resource != GPU:
            continue
        gpus, price, basis = amount * part, None, "no pool is known"
        hardware = _from_labels(context, group)
        labelled = grant_of_labels(context.catalogue, group)
        cheapest = _cheapest_machine(context, shapes(context, group, resource))
        if hardware is not None and labelled is not None:
            price, basis = hardware.micro_usd_per_gpu_hour, hardware.because
            gpus *= labelled.part
        elif here := [cheapest] if cheapest else offers(context, group, resource):
            price, basis = here[0].micro_usd_per_gpu_hour, _chosen(here)
        return waste(workload, group.pods, gpus, price, basis, kind)
    return None


@once
def _cheapest_machine(context: RuleContext, machines: tuple[NodeShape, ...]) -> NodeShape | None:
    """By GPU-hour; None where some price is not known. Looked for once for the same machines."""
    if any(machine.micro_usd_per_gpu_hour is None for machine in machines):
        return None
    order = attrgetter("micro_usd_per_gpu_hour", "name")
    return min(machines, key=order, default=None)


def waste(
    workload: WorkloadFacts,
    pods: Fact[int],
    gpus: Fraction,
    price: Fraction | None,
    basis: str,
    kind: AmountKind = AmountKind.WASTE,
) -> Money | None:
    """Cost of a number of GPUs per pod, at a price each, for all pods.

    None when the number of pods is not known. `price` is micro-dollars per GPU-hour.
    """
    if not pods.is_known:
        return None
    count = pods.value
    if not gpus * count:
        return None
    return Money(
        kind,
        None if price is None else gpus * price * count,
        gpus * count,
        f"{count} pod{'' if count == 1 else 's'}; {basis}",
        all_month=not workload.runs_to_completion,
    )
