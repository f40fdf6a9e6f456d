"""Findings about raw arguments of a GKE node pool, and about tags as Google's labels.

Raw arguments are merged last. They may set arguments that gpufleet does not set. They must not
change arguments from which the fleet's counts are computed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
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

_OBJECTS = ("management", "networkConfig", "nodeConfig", "upgradeSettings")
"""Arguments that are objects; anything else in their place would be sent instead of them."""


def validate_raw(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """Raw arguments of one pool."""
    raw = shape.options.node_pool
    place = f"{pool.path}.gke.nodePool"
    for key in raw:
        if key in WIRED:
            yield error(
                "raw-argument-wired",
                f"{place}.{key}",
                f"{key} is wired by the component, and nodes hang on it",
                "remove it; names, sizes and places have settings of their own",
                found=key,
            )
    for key in _OBJECTS:
        if key in raw and not isinstance(raw[key], Mapping):
            yield error(
                "raw-argument-no-object",
                f"{place}.{key}",
                f"{key} is an object, and {raw[key]!r} would be sent instead of all of it",
                f"write what is to change: {{{key}: {{...}}}}",
            )
    yield from _decided(pool, raw, place)


def _decided(pool: Pool, raw: Mapping[str, Any], place: str) -> Iterable[Finding]:
    config = _object(raw.get("nodeConfig"))
    given = {*raw, *(f"nodeConfig.{key}" for key in config)}
    for key, setting in DECIDED.items():
        if key in given:
            yield error(
                "raw-argument-decided",
                f"{place}.{key}",
                f"{key} follows from `{setting}`, which spend, quotas and pods rely on",
                f"remove it, and write `{setting}`",
                found=key,
            )
    for key in _object(config.get("labels")):
        if key in pool.labels:
            yield error(
                "raw-argument-decided",
                f'{place}.nodeConfig.labels["{key}"]',
                f"the pool gives its nodes {key}, and pods choose them by it",
                "remove it; labels of your own belong under `labels`",
                found=key,
            )


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else dict[str, Any]()
