"""Node labels that describe the position of a node in the network, the widest first."""

from gpufleet.contract.platform import PlatformValue
from gpufleet.spec.queues import NetworkTopology

HOSTNAME = "kubernetes.io/hostname"


def topology_levels(declared: NetworkTopology, platform: PlatformValue) -> tuple[str, ...]:
    """The levels of a topology: as declared, else the platform's. Empty if it has none."""
    return declared.levels or platform.facts.topology_levels
