"""What the simulated platform computes from pools and fleets."""

from collections.abc import Iterable

from gpufleet.fleet.model import Fleet
from gpufleet.fleet.platform_rules import PlatformRules
from gpufleet.platforms.sandbox.simulated_node import node_name


class SandboxRules(PlatformRules):
    """Nodes are objects that the program names itself."""

    def node_names(self, fleet: Fleet, pool: str, ordinals: Iterable[int]) -> list[str]:
        prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
        return [node_name(prefix, pool, ordinal) for ordinal in ordinals]


RULES = SandboxRules()
