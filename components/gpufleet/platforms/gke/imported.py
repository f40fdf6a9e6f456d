"""An imported node pool: which of its arguments stay unchanged.

`gke: {imported: adopt}` keeps everything; `manage` applies changes that need no new machines.
The arguments are in the catalogue's row of the node pool.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue.provider_shapes import inputs_of
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.names import NODE_POOL, imported_place
from gpufleet.platforms.gke.shape import gke_shape

_rules = rules_in(__file__)

MANAGED = ("autoscaling", "management", "upgradeSettings")
"""Arguments of the node pool that `manage` applies."""

MANAGED_OF_NODES = ("labels", "taints", "resourceLabels", "tags")
"""Arguments of its nodes that `manage` applies, if the fleet has a value for them."""


def validate_import(pool: Pool, found: Mapping[str, Any]) -> list[Finding]:
    """Whether the node pool of `importId` belongs to the cluster.

    `found` contains `cluster`, `location` and `project` if they are known; outputs are not
    validated.
    """
    place = pool.spec.import_id and imported_place(pool.spec.import_id)
    own = {key: text.rsplit("/", 1)[-1] for key, text in found.items() if isinstance(text, str)}
    return list(_rules("import", pool.path, place=place, own=own, found=found))


def kept_as_made(pool: Pool, node_config: Mapping[str, Any]) -> list[str]:
    """Paths of an imported node pool's arguments whose value is not changed.

    `node_config` contains the fleet's settings of the nodes: labels or network tags that it lacks
    are kept too.
    """
    arguments = inputs_of(NODE_POOL)
    if gke_shape(pool).options.imported == "adopt":
        return list(arguments)
    taken = {name for name in MANAGED_OF_NODES if name in node_config}
    kept = (name for name in arguments if name not in (*MANAGED, "nodeConfig"))
    of_nodes = (name for name in arguments["nodeConfig"] if name not in taken)
    return [*kept, *(f"nodeConfig.{name}" for name in of_nodes)]
