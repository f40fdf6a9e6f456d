"""The ComputeClass of a pool: over its node pools, best capacity type first, or the one by which
GKE creates and removes the node pools.

GKE creates nodes in the first node pool that has capacity, and moves workloads back when a better
one gets capacity (GKE documentation, about custom compute classes: `priorities`, `activeMigration`;
read 2026-11-21). Pods request the class; sharing and purchase are settings of the node pools.

Fields and rules: the definition from a cluster, datreeio/CRDs-catalog 2b29511
`cloud.google.com/computeclass_v1.json`; GKE documentation, about custom compute classes. GKE sets
label and taint of the class, and the taint of GPUs. Read 2026-11-23.
"""

from typing import Any

from gpufleet.fleet.model import GPU_TAINT, Pool
from gpufleet.platforms.gke.names import node_pool_name
from gpufleet.platforms.gke.shape import (
    ARM_TAINT,
    COMPUTE_CLASS,
    CapacityStep,
    GkeShape,
    gke_shape,
    wanted_repair,
)
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import Intent, Provisioner

API_VERSION = "cloud.google.com/v1"

_MOVES_BACK = frozenset({Intent.INFERENCE, Intent.BATCH})
"""Intents whose pods may be moved to better capacity: a move ends each pod once."""

_CONSOLIDATION_MINUTES = {
    Intent.INFERENCE: 10,
    Intent.BATCH: 10,
    Intent.INTERACTIVE: 60,
    Intent.TRAINING: 30,
}
"""Minutes that an empty node stays; our choice, the autoscaler's default is 10."""


def compute_class(pool: Pool, prefix: str) -> dict[str, Any] | None:
    """The ComputeClass of a pool with several capacity types, or by which GKE creates node pools;
    None for every other pool."""
    if pool.platform.name is not Platform.GKE:
        return None
    shape = gke_shape(pool)
    if not shape.fallback_order and not auto_created(pool):
        return None
    ours = {
        "priorities": [{"nodepools": [node_pool_name(pool, step, prefix)]} for step in shape.steps],
        "nodePoolAutoCreation": {"enabled": False},
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "ComputeClass",
        "metadata": {"name": pool.name},
        "spec": {
            **(auto_class(pool, shape) if auto_created(pool) else ours),
            "activeMigration": {"optimizeRulePriority": pool.intent in _MOVES_BACK},
            "autoscalingPolicy": {"consolidationDelayMinutes": _CONSOLIDATION_MINUTES[pool.intent]},
            "whenUnsatisfiable": "DoNotScaleUp",
        },
    }


_AFFINITY = {"NO_RESERVATION": "None", "ANY_RESERVATION": "AnyBestEffort"}


def auto_created(pool: Pool) -> bool:
    """Whether GKE creates the pool's node pools."""
    return pool.provisioner is Provisioner.COMPUTE_CLASS


def auto_class(pool: Pool, shape: GkeShape) -> dict[str, Any]:
    """The part of the ComputeClass's spec that describes nodes, without the service account."""
    config: dict[str, Any] = {
        "imageType": shape.image_type.lower(),
        "ipType": "private",
        "nodeLabels": {k: v for k, v in pool.labels.items() if k != COMPUTE_CLASS},
    }
    own = [
        {"key": one.key, **({"value": one.value} if one.value else {}), "effect": one.effect}
        for one in pool.taints
        if one not in (GPU_TAINT, ARM_TAINT) and one.key != COMPUTE_CLASS
    ]
    if own:
        config["taints"] = own
    options = shape.options
    if options.image_streaming or options.image_cache is not None:
        config["imageStreaming"] = {"enabled": True}
    repair = wanted_repair(pool, options)
    for key, value in (("autoRepair", repair), ("autoUpgrade", options.auto_upgrade)):
        if value is not None:
            config[key] = value
    return {
        "priorities": [_priority(pool, shape, step) for step in shape.steps],
        "nodePoolAutoCreation": {"enabled": True},
        "nodePoolConfig": config,
    }


def _priority(pool: Pool, shape: GkeShape, step: CapacityStep) -> dict[str, Any]:
    """One capacity type, as one rule."""
    row, options = pool.machines[0].instance, shape.options
    assert row is not None  # validated when compiling
    rule: dict[str, Any] = {
        "machineType": shape.machine_type,
        "gpu": {
            "type": row.gke_accelerator_type,
            "count": pool.gpus_per_node,
            "driverVersion": options.driver_version,
        },
        "spot": step.spot,
        "location": {
            "locationPolicy": options.location_policy.upper(),
            **({"zones": list(shape.zones)} if shape.zones and step.zone is None else {}),
        },
        "storage": _storage(pool, shape),
    }
    if step.flex_start:
        rule["flexStart"] = {"enabled": True}
    if step.max_run_seconds is not None:
        rule["maxRunDurationSeconds"] = step.max_run_seconds
    if options.max_pods is not None:
        rule["maxPodsPerNode"] = options.max_pods
    if step.reservation is None:
        rule["reservations"] = {"affinity": _AFFINITY[step.reservation_type]}
    else:
        rule["reservations"] = {"affinity": "Specific", "specific": [_reservation(step)]}
    return rule


def _storage(pool: Pool, shape: GkeShape) -> dict[str, Any]:
    storage: dict[str, Any] = {
        "bootDiskSize": pool.spec.disk.size_gib,
        "bootDiskType": shape.disk_type,
    }
    if shape.local_ssds:
        storage["localSSDCount"] = shape.local_ssds
    cache = shape.options.image_cache
    if cache is not None:
        project, _, image = cache.removeprefix("projects/").partition("/global/images/")
        disk = {"diskImageName": image, "project": project, "mode": "CONTAINER_IMAGE_CACHE"}
        storage["secondaryBootDisks"] = [disk]
    return storage


def _reservation(step: CapacityStep) -> dict[str, Any]:
    """`projects/P/reservations/R/reservationBlocks/B/reservationSubBlocks/S`, and its zone."""
    named = step.reservation or ""
    parts = named.split("/") if "/" in named else ["reservations", named]
    if parts[0] not in {"projects", "reservations"}:
        parts = ["reservations", *parts]
    found = dict(zip(parts[::2], parts[1::2], strict=False))
    wanted: dict[str, Any] = {"name": found["reservations"]}
    if "projects" in found:
        wanted["project"] = found["projects"]
    if step.zone is not None:
        wanted["zones"] = [step.zone]
    if "reservationBlocks" in found:
        block: dict[str, Any] = {"name": found["reservationBlocks"]}
        if "reservationSubBlocks" in found:
            block["reservationSubBlock"] = {"name": found["reservationSubBlocks"]}
        wanted["reservationBlock"] = block
    return wanted
