"""Node labels that say where in the network a node is, the widest first."""

from gpufleet.contract.platform import PlatformValue
from gpufleet.spec.queues import NetworkTopology

HOSTNAME = "kubernetes.io/hostname"


def topology_levels(declared: NetworkTopology, platform: PlatformValue) -> tuple[str, ...]:
    """The levels of a topology: those declared, else the platform's. Empty where it has none."""
    return declared.levels or platform.facts.topology_levels
