"""What the simulated platform computes from pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.findings import Finding, warning
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.platform_rules import PlatformRules
from gpufleet.platforms.sandbox.registered import input_class, registered
from gpufleet.platforms.sandbox.simulated_node import node_name
from gpufleet.spec.fleet_spec import FleetSpec


class SandboxRules(PlatformRules):
    """Nodes are objects that the program names itself."""

    node_kinds = frozenset({"node"})

    def node_names(self, fleet: Fleet, pool: str, ordinals: Iterable[int]) -> list[str]:
        prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
        return [node_name(prefix, pool, ordinal) for ordinal in ordinals]

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """Nodes are objects without a kubelet."""
        for pool in pools:
            if pool.spec.kubelet is not None:
                yield warning(
                    "kubelet-not-simulated",
                    f"{pool.path}.kubelet",
                    "simulated nodes have no kubelet: nothing aligns cores or memory here",
                )

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        return registered(fleet, pool)

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        return input_class(kind, path, old, new)


RULES = SandboxRules()
