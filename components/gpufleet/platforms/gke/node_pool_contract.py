"""Arguments of a complete node pool that Google's provider and GKE refuse.

Enumerations, bounds and exclusions of the provider are rows of `catalogue.provider_inputs`. This
module has combinations, each a row of `findings.jsonl` with its source. Raw arguments can cause any
of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.gke.shape import CapacityStep, GkeShape
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric

_finding = findings_in(__file__)

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
    yield from _lifecycle(step, arguments, place)
    yield from _nodes(pool, shape, arguments, place)


def _lifecycle(step: CapacityStep, arguments: Mapping[str, Any], place: str) -> Iterator[Finding]:
    """Repair, upgrades and placement."""
    management = mapping(arguments.get("management"))
    upgrade = mapping(arguments.get("upgradeSettings"))
    compact = mapping(arguments.get("placementPolicy")).get("type") == "COMPACT"
    dynamic, mode = step.flex_start or step.queued, step.capacity.mode
    if dynamic and management.get("autoRepair") is True:
        yield _finding("gke-arguments-exclude-each-other/repair", place, mode=mode)
    blue_green = upgrade.get("strategy") == "BLUE_GREEN"
    if blue_green and compact:
        yield _finding("gke-arguments-exclude-each-other/blue-green-compact", place)
    if blue_green and (dynamic or step.reservation_type == "SPECIFIC_RESERVATION"):
        yield _finding("gke-arguments-exclude-each-other/blue-green-twice", place, mode=mode)
    surge, unavailable = (upgrade.get(key, 0) for key in ("maxSurge", "maxUnavailable"))
    known = isinstance(surge, int) and isinstance(unavailable, int)
    at_once = surge + unavailable if known and upgrade and not blue_green else 1
    if not 1 <= at_once <= MOST_UPGRADED_AT_ONCE:
        yield _finding(
            "gke-arguments-exclude-each-other/upgraded-at-once",
            place,
            surge=surge,
            unavailable=unavailable,
            limit=MOST_UPGRADED_AT_ONCE,
        )
    if "version" in arguments and management.get("autoUpgrade") is True:
        yield _finding("gke-arguments-exclude-each-other/version", place)


def _nodes(
    pool: Pool, shape: GkeShape, arguments: Mapping[str, Any], place: str
) -> Iterator[Finding]:
    """Networks, disks and image."""
    config = mapping(arguments.get("nodeConfig"))
    network, fabric = mapping(arguments.get("networkConfig")), pool.fabric.value
    profile = network.get("acceleratorNetworkProfile")
    if profile and (network.get("additionalNodeNetworkConfigs") or shape.networks):
        yield _finding("gke-arguments-exclude-each-other/network-profile", place)
    if "additionalNodeNetworkConfigs" in network and shape.networks:
        yield _finding("gke-arguments-exclude-each-other/networks", place, fabric=fabric)
    if all(
        mapping(config.get(key)).get("localSsdCount")
        for key in ("ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig")
    ):
        yield _finding("gke-arguments-exclude-each-other/ssds", place)
    wired = bool(shape.networks) or shape.automatic_networks
    if wired and mapping(config.get("gvnic")).get("enabled") is False:
        yield _finding("gke-arguments-exclude-each-other/gvnic", place, fabric=fabric)
    image = str(config.get("imageType", ""))
    faster = fabric if pool.fabric is not Fabric.NONE else ""
    if mapping(config.get("fastSocket")).get("enabled") is True:
        faster = "Fast Socket"
    cos = image.upper().startswith("COS")
    if faster and not cos:
        yield _finding("gke-arguments-exclude-each-other/image", place, faster=faster, found=image)
    secure = mapping(config.get("shieldedInstanceConfig")).get("enableSecureBoot") is True
    if secure and (shape.operator or not cos):
        yield _finding("gke-arguments-exclude-each-other/secure-boot", place)
