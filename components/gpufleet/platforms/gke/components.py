"""The GKE part of a fleet: the networks of its GPU interfaces, and the component of each pool."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    managed_pools,
    name_prefix,
    no_charts,
    no_operators,
)
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.gke.connection import GkeConnection, gke_connection
from gpufleet.platforms.gke.gpudirect_installers import gpudirect_objects
from gpufleet.platforms.gke.networks import needed_networks, network_objects, validate_networks
from gpufleet.platforms.gke.node_pool import GkeGpuNodePool, GkePoolPlan, gke_pool_plan

platform_operators = no_operators
platform_charts = no_charts


@dataclass(frozen=True, kw_only=True)
class GkeFleet(PlatformFleet):
    """A fleet on GKE."""

    connection: GkeConnection
    pools: Mapping[str, GkePoolPlan]
    """Of each pool that gpufleet manages, by name."""

    def parts(self, parent: pulumi.ComponentResource, name: str) -> list[pulumi.Resource]:
        """The objects through which pods use GPU interfaces, and what brings GPUDirect to nodes.
        GKE's own autoscaler is part of the cluster."""
        made: list[pulumi.Resource] = []
        for network in needed_networks(self.fleet.pools):
            place = self.connection.gpu_networks[network.name]
            parameters, attachment = network_objects(network, place["network"], place["subnetwork"])
            base = f"{name}-network-{network.name}"
            opts = pulumi.ResourceOptions(parent=parent)
            first = ManifestObject(f"{base}-parameters", parameters, opts)
            after = pulumi.ResourceOptions(parent=parent, depends_on=[first])
            made += [first, ManifestObject(base, attachment, after)]
        addons = self.fleet.spec.addons
        if addons.gpu_direct.enabled:
            opts = pulumi.ResourceOptions(parent=parent)
            objects = gpudirect_objects(self.fleet.pools, addons.images)
            for kind, manifest in objects.items():  # nodes need not wait for them
                ManifestObject(f"{name}-gpudirect-{kind}", manifest, opts)
        return made

    def nodes(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> GkeGpuNodePool:
        """The component that makes the pool's nodes."""
        return GkeGpuNodePool.from_plan(name, self.pools[pool.name], opts)


def platform_fleet(fleet: Fleet, connection: Connection) -> GkeFleet:
    """The fleet, with each pool rendered and validated."""
    wired = gke_connection(connection, fleet, name_prefix(fleet), fleet.spec.tags)
    findings = validate_networks(needed_networks(fleet.pools), wired.gpu_networks)
    pools: dict[str, GkePoolPlan] = {}
    for pool in managed_pools(fleet):
        pools[pool.name], found = gke_pool_plan(pool, wired)
        findings += found
    return GkeFleet(fleet=fleet, findings=tuple(findings), connection=wired, pools=pools)
