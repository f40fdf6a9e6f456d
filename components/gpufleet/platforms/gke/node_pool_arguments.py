"""Arguments of the node pools of a GKE pool, in the provider's spelling: one for each step.

Defaults are Google's own recommendations, if any (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool`). The component adds values of the deployment (cluster, networks,
service account).
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.kubelet import manager_policies
from gpufleet.fleet.layout_waves import group_labels
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_labels import resource_labels
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.names import node_pool_name
from gpufleet.platforms.gke.shape import (
    GKE_TAINTS,
    QUEUED_LABEL,
    RESERVATION_KEY,
    CapacityStep,
    GkeShape,
    gke_shape,
    placed_topology,
    raw_ssds,
    upgrade_strategy,
    wanted_repair,
)
from gpufleet.platforms.gke.tpu import is_tpu, tpu_slice
from gpufleet.spec.platforms.gke import UpgradeStrategy

NETWORK_DRA_LABEL = {"cloud.google.com/gke-networking-dra-driver": "true"}
"""Label with which GKE assigns the interfaces of `acceleratorNetworkProfile: auto`."""

_STRATEGIES = {
    UpgradeStrategy.SURGE: "SURGE",
    UpgradeStrategy.BLUE_GREEN: "BLUE_GREEN",
}
EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
"""Kubernetes' taint effects in GKE's form."""
_SHARED = {"timeSlicing": "TIME_SHARING", "mig": "TIME_SHARING", "mps": "MPS"}
"""Names of a pool's shares, if GPUs or partitions are shared."""
SIZES_IGNORED = ("initialNodeCount", "nodeCount")
"""Sizes are set once and then belong to the autoscaler."""


def node_pools(pool: Pool, prefix: str, labels: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Suffix of each step -> arguments of its node pool; none if GKE creates them.

    Args:
        pool: A compiled pool on GKE.
        prefix: Prefix of names.
        labels: Resource labels of all resources (`tags`).
    """
    if auto_created(pool):
        return {}
    shape = gke_shape(pool)
    return {step.name: _node_pool(pool, shape, step, prefix, labels) for step in shape.steps}


def workload_policies(pool: Pool, prefix: str, region: str) -> dict[str, dict[str, Any]]:
    """Suffix of each step -> arguments of the workload policy that places its hosts; empty if the
    node pool itself places them (`gcp:compute/resourcePolicy`)."""
    topology = placed_topology(pool)
    if topology is None or pool.spec.import_id is not None or auto_created(pool):
        return {}
    throughput = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": topology}
    return {
        step.name: {
            "name": node_pool_name(pool, step, prefix),
            "region": region,
            "workloadPolicy": throughput,
        }
        for step in gke_shape(pool).steps
    }


def _node_pool(
    pool: Pool, shape: GkeShape, step: CapacityStep, prefix: str, labels: Mapping[str, str]
) -> dict[str, Any]:
    options = shape.options
    arguments: dict[str, Any] = {
        "name": node_pool_name(pool, step, prefix),
        "initialNodeCount": _per_zone_start(pool, shape),
        "autoscaling": _autoscaling(pool, shape, step),
        "management": _management(pool, shape, step),
        **_upgrade(shape, step),
        "nodeConfig": _node_config(pool, shape, step, labels),
        "networkConfig": _network(shape),
    }
    zones = step_zones(shape, step)
    if zones:
        arguments["nodeLocations"] = zones
    if options.max_pods is not None:
        arguments["maxPodsPerNode"] = options.max_pods
    if step.queued:
        arguments["queuedProvisioning"] = {"enabled": True}
    slice_ = tpu_slice(pool)
    if placed_topology(pool) is not None:
        arguments["placementPolicy"] = {"type": "COMPACT", "policyName": arguments["name"]}
    elif slice_ is not None and slice_.hosts > 1:
        arguments["placementPolicy"] = {"type": "COMPACT", "tpuTopology": slice_.topology}
    elif options.compact_placement:
        arguments["placementPolicy"] = {"type": "COMPACT"}
    return merged(arguments, options.node_pool)


MAINTENANCE_INTERVALS = {"periodic": "PERIODIC", "asNeeded": "AS_NEEDED"}
"""`maintenanceInterval` of the API (Google's provider, `host_maintenance_policy`)."""


def step_zones(shape: GkeShape, step: CapacityStep) -> list[str]:
    """Zones of a step's node pool; empty: the cluster's."""
    return [step.zone] if step.zone is not None else list(shape.zones)


def _per_zone_start(pool: Pool, shape: GkeShape) -> int:
    """Nodes per zone at the start: the minimum in one zone. Else none: it is not known which of the
    cluster's zones have GPUs, and the autoscaler adds nodes there when pods wait."""
    one = shape.one_zone is not None or len(shape.zones) == 1 or shape.options.limits == "perZone"
    return pool.spec.nodes.min if one else 0


def _autoscaling(pool: Pool, shape: GkeShape, step: CapacityStep) -> dict[str, Any]:
    """Flex start of TPUs accepts only limits of a zone, and a slice is in one zone: both limits are
    equal there (cluster-toolkit 1047080 `modules/compute/gke-node-pool/main.tf`, line 110)."""
    low, high = pool.spec.nodes.min, pool.spec.nodes.max
    policy = shape.options.location_policy.upper()
    tpu_flex = step.flex_start and is_tpu(pool) and len(step_zones(shape, step)) == 1
    if shape.options.limits == "perZone" or tpu_flex:
        return {"minNodeCount": low, "maxNodeCount": high, "locationPolicy": policy}
    return {"totalMinNodeCount": low, "totalMaxNodeCount": high, "locationPolicy": policy}


def _management(pool: Pool, shape: GkeShape, step: CapacityStep) -> dict[str, bool]:
    options, dynamic = shape.options, step.flex_start or step.queued
    declared = wanted_repair(pool, options)
    repair = not dynamic if declared is None else declared
    return {"autoRepair": repair, "autoUpgrade": options.auto_upgrade is not False}


def _upgrade(shape: GkeShape, step: CapacityStep) -> dict[str, Any]:
    """Without `upgradeSettings` the API chooses short-lived upgrades for flex start and queued
    capacity. The provider does not accept that value (its own schema, `provider_inputs`), and
    Google's own module omits the block (terraform-google-kubernetes-engine PR 2352)."""
    strategy = upgrade_strategy(shape.options, step)
    if strategy is UpgradeStrategy.SHORT_LIVED:
        return {}
    settings: dict[str, Any] = {"strategy": _STRATEGIES[strategy]}
    if strategy is UpgradeStrategy.SURGE:
        upgrade = shape.options.upgrade
        settings |= {"maxSurge": upgrade.max_surge, "maxUnavailable": upgrade.max_unavailable}
    return {"upgradeSettings": settings}


def _node_config(
    pool: Pool, shape: GkeShape, step: CapacityStep, labels: Mapping[str, str]
) -> dict[str, Any]:
    options, accelerator = shape.options, gke_accelerator(pool)
    config: dict[str, Any] = {
        "machineType": shape.machine_type,
        **({"guestAccelerators": [accelerator]} if accelerator else {}),
        "labels": {**group_labels(pool), **_node_labels(shape, step)},
        # GKE adds the GPU taint, but it must also be written: otherwise the provider would see a
        # difference at every update. Only GKE sets that of Arm nodes.
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": EFFECTS[taint.effect]}
            for taint in pool.taints
            if taint not in GKE_TAINTS
        ],
        "imageType": shape.image_type,
        "diskSizeGb": pool.spec.disk.size_gib,
        "diskType": shape.disk_type,
        "metadata": {"disable-legacy-endpoints": "true"},
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "reservationAffinity": _affinity(step),
        "shieldedInstanceConfig": {
            "enableIntegrityMonitoring": True,
            "enableSecureBoot": shape.secure_boot,
        },
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
    }
    if shape.image_type.startswith("COS"):
        # "Nodes must use a Container-Optimized OS node image" (GKE, how-to/using-gvnic).
        config["gvnic"] = {"enabled": True}
    if labels:
        config["resourceLabels"] = resource_labels(labels)
    config |= _purchase(step)
    config |= _disks(shape)
    if kubelet := _kubelet(pool):
        config["kubeletConfig"] = kubelet
    if options.kms_key is not None:
        config["bootDiskKmsKey"] = options.kms_key
    if options.maintenance_interval is not None:
        interval = MAINTENANCE_INTERVALS[options.maintenance_interval]
        config["hostMaintenancePolicy"] = {"maintenanceInterval": interval}
    if options.confidential and (row := pool.machines[0].instance) is not None:
        kind = row.confidential
        config["confidentialNodes"] = {"enabled": True, "confidentialInstanceType": kind}
    if options.fast_socket:
        config["fastSocket"] = {"enabled": True}
    return config


def _kubelet(pool: Pool) -> dict[str, Any]:
    """Google's provider writes the memory manager's policy in the kubelet's form, `Static` or
    `None` (terraform-provider-google e03b762 `google/services/container/node_config.go`)."""
    declared = pool.spec.kubelet
    if declared is None:
        return {}
    fields = manager_policies(declared)
    config = {key: fields[key] for key in ("cpuManagerPolicy", "podPidsLimit") if key in fields}
    topology = {
        name: fields[key]
        for name, key in (("policy", "topologyManagerPolicy"), ("scope", "topologyManagerScope"))
        if key in fields
    }
    if topology:
        config["topologyManager"] = topology
    if declared.memory_manager is not None:
        config["memoryManager"] = {"policy": declared.memory_manager.value.title()}
    return config


def _node_labels(shape: GkeShape, step: CapacityStep) -> dict[str, str]:
    labels = dict(QUEUED_LABEL) if step.queued else {}
    if shape.automatic_networks:
        labels |= NETWORK_DRA_LABEL
    return labels


def _affinity(step: CapacityStep) -> dict[str, Any]:
    affinity: dict[str, Any] = {"consumeReservationType": step.reservation_type}
    if step.reservation is not None:
        affinity |= {"key": RESERVATION_KEY, "values": [step.reservation]}
    return affinity


def _purchase(step: CapacityStep) -> dict[str, Any]:
    bought: dict[str, Any] = {}
    if step.spot:
        bought["spot"] = True
    if step.flex_start:
        bought["flexStart"] = True
    if step.max_run_seconds is not None:
        bought["maxRunDuration"] = f"{step.max_run_seconds}s"
    return bought


def _disks(shape: GkeShape) -> dict[str, Any]:
    options = shape.options
    disks: dict[str, Any] = {}
    if shape.local_ssds:
        raw = raw_ssds(options)
        key = "localNvmeSsdBlockConfig" if raw else "ephemeralStorageLocalSsdConfig"
        disks[key] = {"localSsdCount": shape.local_ssds}
    if options.image_streaming or options.image_cache is not None:
        disks["gcfsConfig"] = {"enabled": True}
    if options.image_cache is not None:
        cache = {"diskImage": options.image_cache, "mode": "CONTAINER_IMAGE_CACHE"}
        disks["secondaryBootDisks"] = [cache]
    return disks


def _network(shape: GkeShape) -> dict[str, Any]:
    network: dict[str, Any] = {"enablePrivateNodes": True}
    if shape.automatic_networks:
        network["acceleratorNetworkProfile"] = "auto"
    return network


def gke_accelerator(pool: Pool) -> dict[str, Any] | None:
    """The entry of `nodeConfig.guestAccelerators`, without unset fields; None for machines without
    such an entry: TPUs, and those of other platforms.

    With `driver: gpuOperator` GKE installs nothing and neither partitions nor shares: the operator
    does. Names and limits: Google Kubernetes Engine API `AcceleratorConfig`, provider
    google `guest_accelerator`; GoogleCloudPlatform/container-engine-accelerators.
    """
    row = pool.machines[0].instance
    if row is None or row.gke_accelerator_type is None or is_tpu(pool):
        return None
    served, partition = pool.served_by_platform, pool.partition
    driver = "DEFAULT" if served else "INSTALLATION_DISABLED"
    if pool.spec.gke is not None and pool.spec.gke.driver_version == "latest":
        driver = "LATEST"
    entry: dict[str, Any] = {
        "type": row.gke_accelerator_type,
        "count": pool.gpus_per_node,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": driver},
    }
    # GKE fills every GPU with the one profile; compile has refused other layouts.
    size = next(iter(partition.slices), None) if served else None
    clients = partition.replicas if served else 1
    if size is not None:
        entry["gpuPartitionSize"] = size
    if clients > 1:
        entry["gpuSharingConfig"] = {
            "gpuSharingStrategy": _SHARED[partition.mode],
            "maxSharedClientsPerGpu": clients,
        }
    return entry
