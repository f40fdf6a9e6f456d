"""Pools whose GPUs several pods share: of a fleet, or declared one by one."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpufleet.cluster import FleetFacts, PodGroup, known
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.placed import pools_for
from gpufleet_policies.rules.placement import candidates, gpu_requests, offering
from gpufleet_policies.rules.published import published, sharing_for


@dataclass(frozen=True, slots=True)
class SharedPool:
    """A pool whose GPUs, or slices of them, several pods share."""

    resource: str
    pool: str
    replicas: int
    memory_bytes: int | None
    """Of what the replicas share: a GPU, or a slice."""
    divides_memory: bool
    """MPS: each pod has its part. Time-slicing: nothing limits it."""

    def __str__(self) -> str:
        return f"{self.resource} of pool {self.pool}"


def shared_pools(context: RuleContext, group: PodGroup) -> Iterator[SharedPool]:
    """Of each resource the pods ask for, the pool with the fewest that meet; only where every pool
    that may run them shares its GPUs."""
    for resource, _ in gpu_requests(group):
        found = (
            _of_declared_pools(context, group, resource)
            if context.fleet is None
            else _of_fleet(context.fleet, context, group, resource)
        )
        if found and all(one.replicas > 1 for one in found):
            yield min(found, key=lambda one: one.replicas)


def _of_fleet(
    fleet: FleetFacts, context: RuleContext, group: PodGroup, resource: str
) -> list[SharedPool]:
    pools = offering(candidates(fleet, group, context.catalogue), resource)
    return [
        SharedPool(
            resource,
            pool.name,
            share.replicas,
            None if share.memory_bytes is None else share.memory_bytes * share.replicas,
            pool.sharing == "mps",
        )
        for pool in pools
        if (share := pool.share(resource)) is not None
    ]


def _of_declared_pools(context: RuleContext, group: PodGroup, resource: str) -> list[SharedPool]:
    """Nothing where the resources of one of the pools are not known."""
    found: list[SharedPool] = []
    for pool in pools_for(context, group):
        offer = published(context, pool)
        if offer is None:
            return []
        if resource not in offer.resources:
            continue
        memory = None
        if not any(offer.layouts) and pool.gpu.is_known:
            memory = context.catalogue.gpu(pool.gpu.value).memory_bytes
        modes = {config.mode for config in sharing_for(context, pool) or ()}
        divides = "mps" in modes or pool.shared.strategy == known("mps")
        replicas = offer.replicas.get(resource, 1)
        found.append(SharedPool(resource, pool.name, replicas, memory, divides))
    return found
