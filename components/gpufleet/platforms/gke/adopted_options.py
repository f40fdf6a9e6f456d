"""The options of a pool on GKE from its node pools."""

from collections.abc import Mapping
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.observed import Declaration
from gpufleet.platforms.gke.node_pool_arguments import MAINTENANCE_INTERVALS

_STRATEGIES = {"SURGE": "surge", "BLUE_GREEN": "blueGreen"}


def adopted_options(
    inputs: Mapping[str, Any], config: Mapping[str, Any], *, per_zone: bool
) -> Declaration:
    """`gke` of a pool; `per_zone`: whether bounds of its size apply to each zone."""
    options: Declaration = {}
    accelerators = [mapping(one) for one in items(config.get("guestAccelerators"))]
    versions = {
        str(mapping(a.get("gpuDriverInstallationConfig")).get("gpuDriverVersion"))
        for a in accelerators
    }
    if "INSTALLATION_DISABLED" in versions:
        options["driver"] = "gpuOperator"
    if "LATEST" in versions:
        options["driverVersion"] = "latest"
    if per_zone:
        options["limits"] = "perZone"
    if mapping(inputs.get("autoscaling")).get("locationPolicy") == "BALANCED":
        options["locationPolicy"] = "balanced"
    upgrade = mapping(inputs.get("upgradeSettings"))
    written: Declaration = {}
    strategy = _STRATEGIES.get(str(upgrade.get("strategy")))
    if strategy is not None:
        written["strategy"] = strategy
    for ours, theirs, default in (("maxSurge", "maxSurge", 0), ("maxUnavailable",) * 2 + (1,)):
        if isinstance(upgrade.get(theirs), int) and upgrade[theirs] != default:
            written[ours] = upgrade[theirs]
    if written and written != {"strategy": "surge"}:
        options["upgrade"] = written
    elif strategy == "surge":
        options["upgrade"] = {"strategy": "surge"}
    policy = mapping(inputs.get("placementPolicy"))
    if policy.get("tpuTopology"):
        options["tpuTopology"] = policy["tpuTopology"]
    elif policy.get("type") == "COMPACT" and "policyName" not in policy:
        options["compactPlacement"] = True
    if isinstance(inputs.get("maxPodsPerNode"), int):
        options["maxPods"] = inputs["maxPodsPerNode"]
    for key, use in (
        ("ephemeralStorageLocalSsdConfig", None),
        ("localNvmeSsdBlockConfig", "raw"),
    ):
        count = mapping(config.get(key)).get("localSsdCount")
        if isinstance(count, int):
            options["localSsds"] = count
            if use is not None:
                options["localSsdUse"] = use
    caches = [mapping(one) for one in items(config.get("secondaryBootDisks"))]
    if caches:
        options["imageCache"] = caches[0].get("diskImage")
    if mapping(config.get("fastSocket")).get("enabled") is True:
        options["fastSocket"] = True
    if mapping(inputs.get("networkConfig")).get("acceleratorNetworkProfile") == "auto":
        options["acceleratorNetworkProfile"] = "auto"
    for ours, theirs in (("diskType", "diskType"), ("kmsKey", "bootDiskKmsKey")):
        if isinstance(config.get(theirs), str):
            options[ours] = config[theirs]
    interval = mapping(config.get("hostMaintenancePolicy")).get("maintenanceInterval")
    spelt = {theirs: ours for ours, theirs in MAINTENANCE_INTERVALS.items()}
    if interval in spelt:
        options["maintenanceInterval"] = spelt[interval]
    switches = (
        ("autoRepair", inputs.get("management"), "autoRepair"),
        ("autoUpgrade", inputs.get("management"), "autoUpgrade"),
        ("secureBoot", config.get("shieldedInstanceConfig"), "enableSecureBoot"),
        ("confidential", config.get("confidentialNodes"), "enabled"),
        ("imageStreaming", config.get("gcfsConfig"), "enabled"),
    )
    for ours, section, theirs in switches:
        value = mapping(section).get(theirs)
        if isinstance(value, bool) and (ours, value) != ("autoRepair", True):
            options[ours] = value
    return options
