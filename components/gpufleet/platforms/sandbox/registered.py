"""Node objects of a simulated pool, and what a difference in one does: an object with another name
is another node, and everything else is applied to the one that exists."""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue import load
from gpufleet.fleet.input_differences import within
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.sandbox.simulated_node import HardwareUnknownError, simulated_nodes


def registered(fleet: Fleet, pool: Pool) -> dict[str, Mapping[str, Any]]:
    """`node/<ordinal>` -> the object; none where the catalogue lacks a figure of the machine."""
    spec = fleet.spec
    try:
        nodes = simulated_nodes(
            pool,
            load(spec.catalogue, overlay=spec.catalogue_overlay),
            prefix=spec.name_prefix or spec.cluster.name,
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


def input_class(kind: str, path: str, old: object, new: object) -> LeafClass:
    """What a difference in one field does to nodes."""
    del kind, old, new
    if path == "":
        return LeafClass.LIVE  # one that comes or goes leaves the others alone
    if path in {"name", "spec.providerID"}:
        return LeafClass.REPLACEMENT
    return LeafClass.LIVE if within(path, ("metadata", "spec")) else LeafClass.UNKNOWN
