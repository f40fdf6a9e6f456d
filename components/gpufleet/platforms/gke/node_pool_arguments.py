"""Arguments of the node pools of a GKE pool, in the provider's spelling: one for each step.

Defaults are Google's own recommendations, if any (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool`). The component adds values of the deployment (cluster, networks,
service account).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.kubelet import manager_policies
from gpufleet.fleet.layout_waves import group_labels
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_labels import resource_labels
from gpufleet.platforms.clouds.taint_effects import EFFECTS
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

_SHARED = {"timeSlicing": "TIME_SHARING", "mig": "TIME_SHARING", "mps": "MPS"}
"""Names of a pool's shares, if GPUs or partitions are shared."""
_FILE = Path(__file__).with_name("node_pools")
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
    options, accelerator = shape.options, gke_accelerator(pool)
    name, zones = node_pool_name(pool, step, prefix), step_zones(shape, step)
    memory = None if pool.spec.kubelet is None else pool.spec.kubelet.memory_manager
    policies = {} if pool.spec.kubelet is None else manager_policies(pool.spec.kubelet)
    topology = [policies.get(f"topologyManager{key}") for key in ("Policy", "Scope")]
    strategy, surge = upgrade_strategy(options, step), options.upgrade
    surges = strategy is UpgradeStrategy.SURGE
    repair, raw, cache = wanted_repair(pool, options), raw_ssds(options), options.image_cache
    row, interval = pool.machines[0].instance, options.maintenance_interval
    placed, tpus = placed_topology(pool) is not None, tpu_slice(pool)
    hosts = tpus is not None and tpus.hosts > 1 and not placed
    arguments = data_part(
        _FILE,
        "nodePool",
        name=name,
        start=_per_zone_start(pool, shape),
        **_limits(pool, shape, step),
        repair=not (step.flex_start or step.queued) if repair is None else repair,
        auto_upgrade=options.auto_upgrade is not False,
        strategy=_STRATEGIES.get(strategy),
        max_surge=surge.max_surge if surges else None,
        max_unavailable=surge.max_unavailable if surges else None,
        machine_type=shape.machine_type,
        accelerators=[accelerator] if accelerator else None,
        labels={
            **group_labels(pool),
            **(QUEUED_LABEL if step.queued else {}),
            **(NETWORK_DRA_LABEL if shape.automatic_networks else {}),
        },
        # GKE adds the GPU taint, but it must also be written: otherwise the provider would see a
        # difference at every update. Only GKE sets that of Arm nodes.
        taints=[
            {"key": taint.key, "value": taint.value, "effect": EFFECTS[taint.effect]}
            for taint in pool.taints
            if taint not in GKE_TAINTS
        ],
        image_type=shape.image_type,
        disk_gib=pool.spec.disk.size_gib,
        disk_type=shape.disk_type,
        reservation_type=step.reservation_type,
        reservation_key=None if step.reservation is None else RESERVATION_KEY,
        reservations=None if step.reservation is None else [step.reservation],
        secure_boot=shape.secure_boot,
        gvnic=shape.image_type.startswith("COS"),
        resource_labels=resource_labels(labels) if labels else None,
        spot=step.spot or None,
        flex_start=step.flex_start or None,
        longest=None if step.max_run_seconds is None else f"{step.max_run_seconds}s",
        raw_disks=shape.local_ssds if raw else None,
        joined_disks=None if raw else shape.local_ssds,
        streaming=options.image_streaming or cache is not None,
        caches=[{"diskImage": cache, "mode": "CONTAINER_IMAGE_CACHE"}] if cache else None,
        kubelet=policies or memory,
        cpu_policy=policies.get("cpuManagerPolicy"),
        pids_limit=policies.get("podPidsLimit"),
        topology=any(topology),
        topology_policy=topology[0],
        topology_scope=topology[1],
        memory_policy=memory and memory.value.title(),
        kms_key=options.kms_key,
        interval=interval and MAINTENANCE_INTERVALS[interval],
        confidential=options.confidential and row is not None,
        confidential_type=None if row is None else row.confidential,
        fast_socket=options.fast_socket,
        network_profile="auto" if shape.automatic_networks else None,
        zones=zones or None,
        max_pods=options.max_pods,
        queued=step.queued,
        compact=placed or hosts or options.compact_placement,
        policy=name if placed else None,
        topology_of_tpus=tpus.topology if tpus is not None and hosts else None,
    )
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


def _limits(pool: Pool, shape: GkeShape, step: CapacityStep) -> dict[str, Any]:
    """Flex start of TPUs accepts only limits of a zone, and a slice is in one zone: both limits are
    equal there (cluster-toolkit 1047080 `modules/compute/gke-node-pool/main.tf`, line 110)."""
    bounds = {"low": pool.spec.nodes.min, "high": pool.spec.nodes.max}
    tpu_flex = step.flex_start and is_tpu(pool) and len(step_zones(shape, step)) == 1
    by_zone = {f"zone_{key}": number for key, number in bounds.items()}
    none = dict.fromkeys((*bounds, *by_zone))
    zonal = shape.options.limits == "perZone" or tpu_flex
    policy = shape.options.location_policy.upper()
    return {**none, **(by_zone if zonal else bounds), "location_policy": policy}


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
    # GKE fills every GPU with the one profile; compile has refused other layouts.
    shared = served and partition.replicas > 1
    return data_part(
        _FILE,
        "accelerator",
        type=row.gke_accelerator_type,
        count=pool.gpus_per_node,
        driver=driver,
        size=next(iter(partition.slices), None) if served else None,
        clients=partition.replicas if shared else None,
        strategy=_SHARED[partition.mode] if shared else None,
    )
