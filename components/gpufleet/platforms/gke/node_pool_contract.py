"""Arguments of a complete node pool that Google's provider and GKE refuse.

Enumerations, bounds and exclusions of the provider are rows of `catalogue.provider_inputs`.
Combinations are rules of `findings.jsonl`, each with its source. Raw arguments can cause any of
them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.gke.shape import CapacityStep, GkeShape
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric

_finding, _rules = findings_in(__file__), rules_in(__file__)

MOST_UPGRADED_AT_ONCE = 20
"""`maxSurge` and `maxUnavailable` together (hashicorp/terraform-provider-google 069a33d
`resource_container_node_pool.go`, description of `upgrade_settings`)."""


def validate_node_pools(pool: Pool, shape: GkeShape, spec: FleetSpec) -> Iterable[Finding]:
    """Refused arguments of the node pools of a pool, one for each capacity type, in the form in
    which the component registers them.

    Args:
        pool: A compiled pool on GKE.
        shape: Its shape.
        spec: The fleet's declaration, for names and labels.
    """
    rendered = node_pools(pool, spec.resource_prefix, spec.tags)
    found: dict[str, Finding] = {}
    for step in (one for one in shape.steps if one.name in rendered):
        place = f"{pool.path}.gke.nodePool"
        for one in validate_arguments(pool, shape, step, rendered[step.name], place):
            found.setdefault(one.message, one)
    return found.values()


def validate_arguments(
    pool: Pool, shape: GkeShape, step: CapacityStep, arguments: Mapping[str, Any], place: str
) -> Iterator[Finding]:
    """The same for one node pool's arguments."""
    yield from refused_arguments(NODE_POOL, arguments, place)
    yield from _rules("arguments", place, pool=pool, shape=shape, step=step, arguments=arguments)
    upgrade = mapping(arguments.get("upgradeSettings"))
    surge, unavailable = (upgrade.get(key, 0) for key in ("maxSurge", "maxUnavailable"))
    known = isinstance(surge, int) and isinstance(unavailable, int)
    counted = known and upgrade and upgrade.get("strategy") != "BLUE_GREEN"
    if not 1 <= (surge + unavailable if counted else 1) <= MOST_UPGRADED_AT_ONCE:
        yield _finding(
            "gke-arguments-exclude-each-other/upgraded-at-once",
            place,
            surge=surge,
            unavailable=unavailable,
            limit=MOST_UPGRADED_AT_ONCE,
        )
    config = mapping(arguments.get("nodeConfig"))
    image = str(config.get("imageType", ""))
    faster = pool.fabric.value if pool.fabric is not Fabric.NONE else ""
    if mapping(config.get("fastSocket")).get("enabled") is True:
        faster = "Fast Socket"
    if faster and not image.upper().startswith("COS"):
        yield _finding("gke-arguments-exclude-each-other/image", place, faster=faster, found=image)
