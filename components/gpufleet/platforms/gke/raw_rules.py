"""Raw arguments of a GKE node pool that are refused."""

from collections.abc import Iterable

from gpufleet.catalogue.provider_shapes import inputs_of
from gpufleet.documents.shapes import is_mapping, mapping
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import decided_elsewhere, validate_raw_arguments
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.shape import GkeShape

WIRED = ("cluster", "initialNodeCount", "location", "name", "namePrefix", "nodeCount", "project")
"""Raw arguments that are refused: components wire them, or identity hangs on them."""

DECIDED = {
    "autoscaling": "nodes",
    "nodeLocations": "zones",
    "placementPolicy": "gke.compactPlacement",
    "queuedProvisioning": "capacity",
    "nodeConfig.flexStart": "capacity",
    "nodeConfig.guestAccelerators": "gpu",
    "nodeConfig.machineType": "instanceTypes",
    "nodeConfig.maxRunDuration": "capacity",
    "nodeConfig.preemptible": "capacity",
    "nodeConfig.reservationAffinity": "capacity",
    "nodeConfig.spot": "capacity",
    "nodeConfig.taints": "taints",
}
"""Raw arguments that are refused -> the setting of the pool that decides them: spend, quotas and
what nodes offer follow from it."""


def validate_raw(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """Raw arguments of one pool."""
    raw = shape.options.node_pool
    place = f"{pool.path}.gke.nodePool"
    yield from validate_raw_arguments(raw, place, WIRED, DECIDED)
    shapes = inputs_of(NODE_POOL)
    for key, value in raw.items():
        if is_mapping(shapes.get(key)) and not is_mapping(value):
            yield error(
                "raw-argument-no-object",
                f"{place}.{key}",
                f"{key} is an object, and {value!r} would be sent instead of all of it",
                f"write what is to change: {{{key}: {{...}}}}",
            )
    for key in mapping(mapping(raw.get("nodeConfig")).get("labels")):
        if key in pool.labels:
            argument = f'nodeConfig.labels["{key}"]'
            yield decided_elsewhere(f"{place}.{argument}", argument, "labels")
