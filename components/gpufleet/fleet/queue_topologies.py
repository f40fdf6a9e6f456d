"""Node labels that say where in the network a node is, per cloud, the widest first.

Sources (read 2026-11-21): Amazon EKS user guide, `ml-workload-topology` (layer 1 is the widest,
layer 3 the closest on most types; the cloud controller writes them); Google's labels as NVIDIA
topograph and the examples of kubernetes-sigs/kueue use them. Every node has its own name besides.
"""

from gpufleet.spec.base import Platform
from gpufleet.spec.queues import NetworkTopology

HOSTNAME = "kubernetes.io/hostname"

CLOUD_LEVELS: dict[Platform, tuple[str, ...]] = {
    Platform.EKS: (
        "topology.k8s.aws/network-node-layer-1",
        "topology.k8s.aws/network-node-layer-2",
        "topology.k8s.aws/network-node-layer-3",
        HOSTNAME,
    ),
    Platform.GKE: (
        "cloud.google.com/gce-topology-block",
        "cloud.google.com/gce-topology-subblock",
        "cloud.google.com/gce-topology-host",
        HOSTNAME,
    ),
}


def topology_levels(declared: NetworkTopology, platform: Platform) -> tuple[str, ...]:
    """The levels of a topology: those declared, else the cloud's. Empty where it has none."""
    return declared.levels or CLOUD_LEVELS.get(platform, ())
