"""The GKE part of a fleet: the networks of its GPU interfaces, and the component of each pool."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pulumi

from gpufleet.arguments.connections import GkeNetworkArgs
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import PoolPlan
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    managed_pools,
)
from gpufleet.findings import findings_in
from gpufleet.fleet import Fleet
from gpufleet.platforms.gke.connection import GkeConnection, gke_connection
from gpufleet.platforms.gke.daemon_sets import google_daemon_sets
from gpufleet.platforms.gke.gcp_objects import gcp_parts
from gpufleet.platforms.gke.gpu_networks import (
    FIREWALL,
    NETWORK,
    SUBNETWORK,
    GpuNetwork,
    firewall_arguments,
    gpu_networks,
    gpu_subnet_arguments,
    needed_networks,
    network_arguments,
    network_objects,
    validate_networks,
)
from gpufleet.platforms.gke.node_pool import GkeGpuNodePool, GkePoolPlan, gke_pool_plan

_finding = findings_in(__file__)


@dataclass(frozen=True, kw_only=True)
class GkeFleet(PlatformFleet):
    """A fleet on GKE."""

    connection: GkeConnection
    networks: Sequence[GpuNetwork]
    """Networks of GPU interfaces that are created with the fleet."""

    def parts(self, parent: pulumi.ComponentResource, name: str) -> list[pulumi.Resource]:
        """The objects through which pods use GPU interfaces, and Google's programs on nodes.
        GKE's own autoscaler is part of the cluster."""
        made: list[pulumi.Resource] = []
        for network in self.networks:
            made += self._network(parent, f"{name}-network-{network.key}", network)
        own = list(made)
        for network in needed_networks(self.fleet.pools):
            place = self.connection.gpu_networks[network.name]
            parameters, attachment = network_objects(network, place["network"], place["subnetwork"])
            base = f"{name}-network-{network.name}"
            opts = pulumi.ResourceOptions(parent=parent, depends_on=own)
            first = ManifestObject(f"{base}-parameters", parameters, opts)
            after = pulumi.ResourceOptions(parent=parent, depends_on=[first])
            made += [first, ManifestObject(base, attachment, after)]
        opts = pulumi.ResourceOptions(parent=parent)
        for kind, (_, manifest) in google_daemon_sets(self.fleet).items():
            ManifestObject(f"{name}-{kind}", manifest, opts)  # nodes need not wait for them
        return made

    def _network(
        self, parent: pulumi.ComponentResource, base: str, network: GpuNetwork
    ) -> list[pulumi.Resource]:
        """The VPC, its subnets, and the rule that allows traffic between its machines. Pools use
        the names that are declared here."""
        project, region = self.connection.project, self.connection.region
        parts = gcp_parts(parent, base)
        place = {} if project is None else {"project": project}
        arguments = network_arguments(network, self.fleet.spec.cluster.project)
        vpc = parts.made(NETWORK, "vpc", {**place, **arguments})
        made: list[pulumi.Resource] = [vpc]
        for subnet in network.subnets:
            inside = {**place, **gpu_subnet_arguments(subnet, region), "network": vpc.id}
            several = len(network.subnets) > 1
            called = f"subnet-{subnet.interface.name}" if several else "subnet"
            made.append(parts.made(SUBNETWORK, called, inside))
        rule = firewall_arguments(network)
        if rule is not None:
            made.append(parts.made(FIREWALL, "internal", {**place, **rule, "network": vpc.id}))
        return made


def platform_fleet(fleet: Fleet, connection: Connection) -> GkeFleet:
    """The fleet, with each pool rendered and validated."""
    wired = gke_connection(connection, fleet)
    networks = gpu_networks(fleet.spec, fleet.pools)
    both = networks and wired.gpu_networks
    if networks:
        made: dict[str, GkeNetworkArgs] = {
            subnet.interface.name: {"network": network.name, "subnetwork": subnet.name}
            for network in networks
            for subnet in network.subnets
        }
        wired = replace(wired, gpu_networks=made)
    findings = [*validate_networks(needed_networks(fleet.pools), wired.gpu_networks)]
    if both:
        findings.append(_finding("gke-gpu-networks-twice"))
    pools: dict[str, PoolPlan] = {}
    for pool in managed_pools(fleet):
        pools[pool.name], found = gke_pool_plan(pool, wired)
        findings += found
    return GkeFleet(
        fleet=fleet,
        findings=tuple(findings),
        connection=wired,
        pools=pools,
        makers={GkePoolPlan: GkeGpuNodePool},
        networks=networks,
    )
