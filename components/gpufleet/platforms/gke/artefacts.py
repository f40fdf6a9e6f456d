"""Files of GKE pools, for GitOps and other tools: what the components would register."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.documents.writing import yaml_text
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
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.platform_files import PlatformFiles


class GkeFiles(PlatformFiles):
    """Arguments of node pools, and the ComputeClass over several."""

    def cluster_files(self, fleet: Fleet) -> Iterator[Artefact]:
        if networks := gpu_networks(fleet.spec, fleet.pools):
            yield Artefact(
                "clouds/gke/gpu-networks.yaml",
                ArtefactKind.ARGUMENTS,
                "arguments of the networks of GPU interfaces, their subnets and firewall rules",
                yaml_text({network.name: _network(network, fleet) for network in networks}),
            )
        for name, (purpose, manifest) in google_daemon_sets(fleet).items():
            path = f"manifests/gke/{name}.yaml"
            yield Artefact(path, ArtefactKind.MANIFEST, purpose, yaml_text(manifest))

    def pool_files(self, fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
        prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
        policies = workload_policies(pool, prefix, fleet.spec.cluster.region or "")
        for step, arguments in node_pools(pool, prefix, fleet.spec.tags).items():
            yield Artefact(
                f"clouds/gke/{'-'.join(part for part in (pool.name, step) if part)}.yaml",
                ArtefactKind.ARGUMENTS,
                f"arguments of the GKE node pool {arguments['name']}, but for cluster, networks "
                "and service account",
                yaml_text(arguments, _placed_by(policies[step]) if step in policies else ""),
            )
        manifest = compute_class(pool, prefix)
        if manifest is not None:
            yield Artefact(
                f"manifests/gke/compute-class-{pool.name}.yaml",
                ArtefactKind.MANIFEST,
                f"order in which GKE tries the ways of buying {pool.name}",
                yaml_text(manifest),
            )


def _network(network: GpuNetwork, fleet: Fleet) -> dict[str, Any]:
    region, rule = fleet.spec.cluster.region or "", firewall_arguments(network)
    return {
        "network": network_arguments(network, fleet.spec.cluster.project),
        "subnetworks": [gpu_subnet_arguments(subnet, region) for subnet in network.subnets],
        **({} if rule is None else {"firewall": rule}),
    }


def _placed_by(policy: Mapping[str, Any]) -> str:
    """What has to be there before the node pool, which names it."""
    wanted = policy["workloadPolicy"]
    return (
        f"Make this resource policy first (gcp:compute/resourcePolicy), in {policy['region']}:\n"
        f"{policy['name']}, workloadPolicy of type {wanted['type']}, "
        f"acceleratorTopology {wanted['acceleratorTopology']}"
    )


FILES = GkeFiles()
