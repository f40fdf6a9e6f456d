"""What Google's provider and GKE refuse of a node pool's complete arguments, before they are asked.

Enumerations, bounds and exclusions of the provider are rows of `catalogue.provider_inputs`. What
remains are combinations, each with its source. Raw arguments can make any of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.gke.shape import CapacityStep, GkeShape
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric

MOST_UPGRADED_AT_ONCE = 20
"""`maxSurge` and `maxUnavailable` together (hashicorp/terraform-provider-google 069a33d
`resource_container_node_pool.go`, description of `upgrade_settings`)."""

_TOOLKIT = "GoogleCloudPlatform/cluster-toolkit 01a7a3e modules/compute/gke-node-pool/main.tf"


@dataclass(frozen=True, slots=True)
class Combination:
    """Arguments that exclude each other."""

    path: str
    message: str
    fix: str
    source: str


def validate_node_pools(pool: Pool, shape: GkeShape, spec: FleetSpec) -> Iterable[Finding]:
    """Everything that is refused about the node pools of a pool, one for each way of buying, as
    the component registers them.

    Args:
        pool: A compiled pool on GKE.
        shape: Its shape.
        spec: The fleet's declaration, for names and labels.
    """
    seen: set[str] = set()
    place = f"{pool.path}.gke.nodePool"
    rendered = node_pools(pool, spec.resource_prefix, spec.tags)
    for step in (one for one in shape.steps if one.name in rendered):
        for one in validate_arguments(pool, shape, step, rendered[step.name], place):
            if one.message not in seen:
                seen.add(one.message)
                yield one


def validate_arguments(
    pool: Pool, shape: GkeShape, step: CapacityStep, arguments: Mapping[str, Any], place: str
) -> Iterator[Finding]:
    """The same of one node pool's arguments."""
    yield from refused_arguments(NODE_POOL, arguments, place)
    for one in (*_lifecycle(step, arguments), *_nodes(pool, shape, arguments)):
        yield error(
            "gke-arguments-exclude-each-other",
            f"{place}.{one.path}",
            one.message,
            one.fix,
            source=one.source,
        )


def _lifecycle(step: CapacityStep, arguments: Mapping[str, Any]) -> Iterator[Combination]:
    """Repair, upgrades and placement."""
    management, upgrade = _section(arguments, "management"), _section(arguments, "upgradeSettings")
    compact = _section(arguments, "placementPolicy").get("type") == "COMPACT"
    dynamic = step.flex_start or step.queued
    if dynamic and management.get("autoRepair") is True:
        yield Combination(
            "management.autoRepair",
            f"GKE refuses automatic repair with {step.capacity.mode}",
            "remove it",
            _TOOLKIT,
        )
    blue_green = upgrade.get("strategy") == "BLUE_GREEN"
    if blue_green and compact:
        yield Combination(
            "upgradeSettings.strategy",
            "GKE refuses blue-green upgrades with compact placement",
            "write SURGE",
            _TOOLKIT,
        )
    if blue_green and (dynamic or step.reservation_type == "SPECIFIC_RESERVATION"):
        yield Combination(
            "upgradeSettings.strategy",
            f"a blue-green upgrade needs each node twice, which {step.capacity.mode} capacity does "
            "not hold",
            "write SURGE",
            "GKE documentation, node pool upgrade strategies (2026-11-21)",
        )
    at_once = [upgrade.get(key, 0) for key in ("maxSurge", "maxUnavailable")]
    if upgrade and not blue_green and all(isinstance(one, int) for one in at_once):
        together = sum(at_once)
        if not 1 <= together <= MOST_UPGRADED_AT_ONCE:
            yield Combination(
                "upgradeSettings",
                f"maxSurge {at_once[0]} and maxUnavailable {at_once[1]} together must be 1 to "
                f"{MOST_UPGRADED_AT_ONCE} nodes",
                "write `maxSurge: 0, maxUnavailable: 1`",
                _TOOLKIT,
            )
    if "version" in arguments and management.get("autoUpgrade") is True:
        yield Combination(
            "version",
            "a fixed version and automatic upgrades change each other's value at each update",
            "remove `version`, or write `autoUpgrade: false`",
            "pulumi-gcp 10.2.0, NodePool version",
        )


def _nodes(pool: Pool, shape: GkeShape, arguments: Mapping[str, Any]) -> Iterator[Combination]:
    """Networks, disks and image."""
    config, network = _section(arguments, "nodeConfig"), _section(arguments, "networkConfig")
    profile = network.get("acceleratorNetworkProfile")
    if profile and (network.get("additionalNodeNetworkConfigs") or shape.networks):
        yield Combination(
            "networkConfig.acceleratorNetworkProfile",
            "GKE makes the networks itself, and other networks are given too",
            "keep one: `gke: {acceleratorNetworkProfile: auto}`, or the connection's gpuNetworks",
            _TOOLKIT,
        )
    if "additionalNodeNetworkConfigs" in network and shape.networks:
        yield Combination(
            "networkConfig.additionalNodeNetworkConfigs",
            f"`fabric: {pool.fabric.value}` gives the nodes the networks of the connection, in the "
            "order that their interfaces need",
            "remove it, and give `gpuNetworks` in the connection",
            _TOOLKIT,
        )
    disks = [
        _section(config, key).get("localSsdCount") or 0
        for key in ("ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig")
    ]
    if all(disks):
        yield Combination(
            "nodeConfig.localNvmeSsdBlockConfig",
            "local SSDs are ephemeral storage or block devices, not both",
            "write `localSsdUse: raw` or `ephemeral`",
            _TOOLKIT,
        )
    wired = bool(shape.networks) or shape.automatic_networks
    if wired and _section(config, "gvnic").get("enabled") is False:
        yield Combination(
            "nodeConfig.gvnic",
            f"`fabric: {pool.fabric.value}` needs gVNIC",
            "remove it",
            "Google Compute Engine, gpu-network-bandwidth (2026-11-21)",
        )
    image = str(config.get("imageType", ""))
    faster = pool.fabric.value if pool.fabric is not Fabric.NONE else ""
    if _section(config, "fastSocket").get("enabled") is True:
        faster = "Fast Socket"
    if faster and not image.upper().startswith("COS"):
        yield Combination(
            "nodeConfig.imageType",
            f"{faster} runs on Container-Optimized OS alone, and the image is {image}",
            "write `image: cos`",
            "GKE documentation, maximize GPU network bandwidth with GPUDirect (2026-11-23) and "
            "nccl-fast-socket (2026-11-28); cluster-toolkit 2c54caa examples/gke-a4/README.md",
        )
    secure = _section(config, "shieldedInstanceConfig").get("enableSecureBoot") is True
    if secure and (shape.operator or not image.upper().startswith("COS")):
        yield Combination(
            "nodeConfig.shieldedInstanceConfig.enableSecureBoot",
            "the kernel modules of this driver are not signed: with secure boot they do not load",
            "remove it, or use GKE's driver on `image: cos`",
            _TOOLKIT,
        )


def _section(arguments: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = arguments.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
