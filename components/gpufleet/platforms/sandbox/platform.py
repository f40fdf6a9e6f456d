"""Computations of the simulated platform about pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import load
from gpufleet.findings import Finding, warning
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.platform_rules import PlatformRules
from gpufleet.platforms.sandbox.simulated_node import (
    HardwareUnknownError,
    node_name,
    simulated_nodes,
)
from gpufleet.spec.fleet_spec import FleetSpec


class SandboxRules(PlatformRules):
    """Nodes are objects that the program names itself."""

    node_kinds = frozenset({"node"})

    def node_names(self, fleet: Fleet, pool: str, ordinals: Iterable[int]) -> list[str]:
        prefix = fleet.spec.resource_prefix
        return [node_name(prefix, pool, ordinal) for ordinal in ordinals]

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        """Nodes are objects without a kubelet."""
        for pool in pools:
            if pool.spec.kubelet is not None:
                yield warning(
                    "kubelet-not-simulated",
                    f"{pool.path}.kubelet",
                    "simulated nodes have no kubelet: cores and memory are not aligned",
                )

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        return registered(fleet, pool)


def registered(fleet: Fleet, pool: Pool) -> dict[str, Mapping[str, Any]]:
    """`node/<ordinal>` -> the object; none if the catalogue lacks a figure of the machine."""
    spec = fleet.spec
    try:
        nodes = simulated_nodes(
            pool,
            load(spec.catalogue, overlay=spec.catalogue_overlay),
            prefix=spec.resource_prefix,
            region=spec.cluster.region or "sandbox",
        )
    except HardwareUnknownError:
        return {}
    return {
        f"node/{i}": {
            "name": node.name,
            "metadata": node.metadata,
            "spec": {**node.spec, "taints": sorted(node.spec["taints"], key=str)},
        }
        for i, node in enumerate(nodes)
    }


RULES = SandboxRules()
