"""The ComputeClass of a pool: over its node pools, best capacity type first, or the one by which
GKE creates and removes the node pools.

GKE creates nodes in the first node pool that has capacity, and moves workloads back when a better
one gets capacity (GKE documentation, about custom compute classes: `priorities`, `activeMigration`;
read 2026-11-21). Pods request the class; sharing and purchase are settings of the node pools.

Fields and rules: the definition from a cluster, datreeio/CRDs-catalog 2b29511
`cloud.google.com/computeclass_v1.json`; GKE documentation, about custom compute classes. GKE sets
label and taint of the class, and the taint of GPUs. Read 2026-11-23.
"""

from pathlib import Path
from typing import Any

from gpufleet.documents.data_files import data_part
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

_FILE = Path(__file__).with_name("node_pools")

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
    auto = auto_created(pool)
    made = [{"nodepools": [node_pool_name(pool, step, prefix)]} for step in shape.steps]
    return data_part(
        _FILE,
        "computeClass",
        name=pool.name,
        auto=auto,
        priorities=[_priority(pool, shape, step) for step in shape.steps] if auto else made,
        config=_class_nodes(pool, shape) if auto else None,
        moves_back=pool.intent in _MOVES_BACK,
        minutes=_CONSOLIDATION_MINUTES[pool.intent],
    )


_AFFINITY = {"NO_RESERVATION": "None", "ANY_RESERVATION": "AnyBestEffort"}


def auto_created(pool: Pool) -> bool:
    """Whether GKE creates the pool's node pools."""
    return pool.provisioner is Provisioner.COMPUTE_CLASS


def _class_nodes(pool: Pool, shape: GkeShape) -> dict[str, Any]:
    own = [
        {"key": one.key, **({"value": one.value} if one.value else {}), "effect": one.effect}
        for one in pool.taints
        if one not in (GPU_TAINT, ARM_TAINT) and one.key != COMPUTE_CLASS
    ]
    options = shape.options
    return data_part(
        _FILE,
        "classNodes",
        image_type=shape.image_type.lower(),
        labels={k: v for k, v in pool.labels.items() if k != COMPUTE_CLASS},
        taints=own or None,
        streaming=options.image_streaming or options.image_cache is not None,
        repair=wanted_repair(pool, options),
        auto_upgrade=options.auto_upgrade,
    )


def _priority(pool: Pool, shape: GkeShape, step: CapacityStep) -> dict[str, Any]:
    """One capacity type, as one rule."""
    row, options, cache = pool.machines[0].instance, shape.options, shape.options.image_cache
    assert row is not None  # validated when compiling
    disk: dict[str, str] | None = None
    if cache is not None:
        project, _, image = cache.removeprefix("projects/").partition("/global/images/")
        disk = {"diskImageName": image, "project": project, "mode": "CONTAINER_IMAGE_CACHE"}
    reserved = step.reservation is not None
    return data_part(
        _FILE,
        "priority",
        machine_type=shape.machine_type,
        type=row.gke_accelerator_type,
        count=pool.gpus_per_node,
        driver=options.driver_version,
        spot=step.spot,
        location_policy=options.location_policy.upper(),
        zones=list(shape.zones) if shape.zones and step.zone is None else None,
        disk_gib=pool.spec.disk.size_gib,
        disk_type=shape.disk_type,
        local_disks=shape.local_ssds or None,
        caches=None if disk is None else [disk],
        flex_start=step.flex_start,
        longest=step.max_run_seconds,
        max_pods=options.max_pods,
        affinity="Specific" if reserved else _AFFINITY[step.reservation_type],
        reservations=[_reservation(step)] if reserved else None,
    )


def _reservation(step: CapacityStep) -> dict[str, Any]:
    """`projects/P/reservations/R/reservationBlocks/B/reservationSubBlocks/S`, and its zone."""
    named = step.reservation or ""
    parts = named.split("/") if "/" in named else ["reservations", named]
    if parts[0] not in {"projects", "reservations"}:
        parts = ["reservations", *parts]
    found = dict(zip(parts[::2], parts[1::2], strict=False))
    return data_part(
        _FILE,
        "reservation",
        reservation=found["reservations"],
        project=found.get("projects"),
        zones=None if step.zone is None else [step.zone],
        block=found.get("reservationBlocks"),
        part=found.get("reservationSubBlocks"),
    )
