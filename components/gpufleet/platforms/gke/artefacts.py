"""Files of GKE pools for GitOps and other tools: the resources that components would register."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.gke.compute_class import compute_class
from gpufleet.platforms.gke.daemon_sets import google_daemon_sets
from gpufleet.platforms.gke.gpu_networks import (
    GpuNetwork,
    firewall_arguments,
    gpu_networks,
    gpu_subnet_arguments,
    network_arguments,
)
from gpufleet.platforms.gke.node_pool_arguments import node_pools, workload_policies
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.platform_files import PlatformFiles

_file = files_in(__file__)


class GkeFiles(PlatformFiles):
    """Arguments of node pools, and the ComputeClass over several."""

    def cluster_files(self, fleet: Fleet) -> Iterator[Artefact]:
        networks = gpu_networks(fleet.spec, fleet.pools)
        arguments = {network.name: _network(network, fleet) for network in networks}
        yield from _file("clouds/gke/gpu-networks.yaml", arguments)
        for name, (purpose, manifest) in google_daemon_sets(fleet).items():
            yield from _file("manifests/gke/{name}.yaml", manifest, name=name, purpose=purpose)

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
        prefix = fleet.spec.resource_prefix
        policies = workload_policies(pool, prefix, fleet.spec.cluster.region or "")
        for step, arguments in node_pools(pool, prefix, fleet.spec.tags).items():
            yield from _file(
                "clouds/gke/{name}.yaml",
                arguments,
                name="-".join(part for part in (pool.name, step) if part),
                node_pool=arguments["name"],
                before=_placed_by(policies[step]) if step in policies else "",
            )
        manifest = compute_class(pool, prefix)
        yield from _file("manifests/gke/compute-class-{pool}.yaml", manifest, pool=pool.name)


def _network(network: GpuNetwork, fleet: Fleet) -> dict[str, Any]:
    region, rule = fleet.spec.cluster.region or "", firewall_arguments(network)
    return {
        "network": network_arguments(network, fleet.spec.cluster.project),
        "subnetworks": [gpu_subnet_arguments(subnet, region) for subnet in network.subnets],
        **({} if rule is None else {"firewall": rule}),
    }


def _placed_by(policy: Mapping[str, Any]) -> str:
    """Resources that must exist before the node pool, which names them."""
    wanted = policy["workloadPolicy"]
    return (
        f"Create this resource policy first (gcp:compute/resourcePolicy), in {policy['region']}:\n"
        f"{policy['name']}, workloadPolicy of type {wanted['type']}, "
        f"acceleratorTopology {wanted['acceleratorTopology']}"
    )


FILES = GkeFiles()
