"""Node labels that say where in the network a node is, the widest first."""

from gpufleet.platforms.registry import platform_facts
from gpufleet.spec.base import Platform
from gpufleet.spec.queues import NetworkTopology

HOSTNAME = "kubernetes.io/hostname"


def topology_levels(declared: NetworkTopology, platform: Platform) -> tuple[str, ...]:
    """The levels of a topology: those declared, else the platform's. Empty where it has none."""
    return declared.levels or platform_facts(platform).topology_levels
