"""The grant of one unit of a requested resource on each pool that the pods may run on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpufleet.cluster import PodGroup
from gpufleet.cluster.container import GPU
from gpufleet.cluster.pool import Maker
from gpufleet.partition.grant import Grant
from gpufleet.partition.shares import GPU_CLASS
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.hardware import grant_of_labels
from gpufleet_policies.rules.placement import candidates, gpu_requests, possible_pools
from gpufleet_policies.rules.published import published


@dataclass(frozen=True, slots=True)
class PoolGrant:
    """A grant, and the pool that gives it."""

    pool: str
    """Name; empty: only labels of nodes identify the pool."""
    grant: Grant
    adds_up: bool = False
    """Whether several shares of one container add up: MPS on GKE, where the node has one GPU.
    Source: GoogleCloudPlatform/container-engine-accelerators `pkg/gpu/nvidia/gpusharing`,
    ValidateRequest."""

    def __str__(self) -> str:
        return f"{self.grant.resource} of pool {self.pool}"


def grants(context: RuleContext, group: PodGroup, resource: str) -> tuple[PoolGrant, ...]:
    """Every grant of a resource that the pods may land on; empty where one pool is not known."""
    if context.fleet is not None and any(container.claimed for container in group.containers):
        return _of_claims(context, group)
    platform = "" if context.fleet is None else context.fleet.platform
    found: list[PoolGrant] = []
    for pool in possible_pools(context, group, resource):
        offer = published(context, pool)
        if offer is None:
            return ()
        on_gke = Maker.GKE in (pool.maker, platform)
        count = pool.gpus_per_node.found or 0
        strategy = pool.shared.strategy.found or ""
        found += [
            PoolGrant(
                pool.name, one, on_gke and strategy == "mps" and one.replicas > 1 and count == 1
            )
            for one in offer.grants
            if one.resource == resource
        ]
    if found or context.fleet is not None or resource != GPU:
        return tuple(found)
    labelled = grant_of_labels(context.catalogue, group)
    return () if labelled is None else (PoolGrant("", labelled),)


def _of_claims(context: RuleContext, group: PodGroup) -> tuple[PoolGrant, ...]:
    """Whole GPUs by a claim that is one pod's own: its pods share them with no other."""
    return tuple(
        PoolGrant(
            pool.name,
            replace(
                one,
                part=one.part * one.replicas,
                replicas=1,
                memory_bytes=one.device_bytes,
                is_enforced=True,
            ),
        )
        for pool in candidates(context, group)
        for one in pool.shares
        if one.device_class == GPU_CLASS
    )


def shared_grants(context: RuleContext, group: PodGroup) -> Iterator[PoolGrant]:
    """For each requested resource, the pool with the smallest number of sharing pods; only where
    every pool that may run the pods shares its GPUs."""
    for resource, _ in gpu_requests(group):
        found = [one for one in grants(context, group, resource) if one.pool]
        if found and all(one.grant.replicas > 1 for one in found):
            yield min(found, key=lambda one: one.grant.replicas)
