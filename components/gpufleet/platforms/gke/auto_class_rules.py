"""Findings about pools whose node pools GKE makes by itself, for a ComputeClass.

Sources next to those of `auto_class`: GKE documentation, about node pool auto-creation (no smallest
size; limits are those of the cluster; no surge settings), read 2026-11-23.
"""

import re
from collections.abc import Iterable, Iterator

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.auto_class import auto_created
from gpufleet.platforms.gke.shape import COMPUTE_CLASS, GkeShape
from gpufleet.platforms.gke.tpu import is_tpu
from gpufleet.spec.platforms.gke import GkeOptions
from gpufleet.spec.pool import Fabric, GpuPool, Provisioner

_TAINT_VALUE = re.compile(r"^([a-z0-9][-A-Za-z0-9_.]{1,61})?[A-Za-z0-9]$")
_MANAGED = "write `provisioner: managed`"
_NO_FIELD = {
    "accelerator_network_profile": "its definition has no networks",
    "compact_placement": "it takes a resource policy that exists, and gpufleet makes none for it",
    "limits": "no limit of nodes is in force",
    "local_ssd_use": "it has local SSDs as ephemeral storage alone",
    "kms_key": "gpufleet writes no key into it",
    "maintenance_interval": "its definition has no field for it",
    "upgrade": "GKE chooses the upgrade settings of node pools that it makes",
    "fast_socket": "its definition has no field for it",
    "secure_boot": "its definition has no field for it",
    "imported": "there is no node pool to take over",
    "node_pool": "gpufleet makes no node pool",
    "tpu_topology": "gpufleet declares GPUs by it, and no TPUs",
}
"""Option of GKE -> why a ComputeClass does not have it."""


def validate_class_sharing(pool: GpuPool, path: str) -> Iterator[Finding]:
    """A ComputeClass has type, number and driver of GPUs, and no partition and no clients."""
    mode = pool.sharing.mode
    if pool.provisioner is not Provisioner.COMPUTE_CLASS or mode == "exclusive":
        return
    yield error(
        "compute-class-sharing",
        f"{path}.sharing.{mode}",
        "a ComputeClass names type, number and driver of the GPUs, and neither a partition "
        "size nor clients: nodes advertise whole GPUs",
        f"remove `sharing`, or {_MANAGED}",
        found=mode,
    )


def validate_auto_class(pool: Pool, shape: GkeShape, *, autopilot: bool) -> Iterable[Finding]:
    """Everything about such a pool but its sharing; nothing about others."""
    if not auto_created(pool):
        return
    yield warning(
        "compute-class-without-limit",
        f"{pool.path}.nodes.max",
        f"nothing holds GKE to {pool.nodes.maximum} nodes of {pool.name}: a ComputeClass has no "
        "limit, and the spend is only that of the declared number",
        ("" if autopilot else "set resource limits of node auto-provisioning for the cluster, or ")
        + "set a quota of `queues`",
        found=pool.nodes.maximum,
    )
    if pool.nodes.minimum > 0:
        yield error(
            "compute-class-minimum",
            f"{pool.path}.nodes.min",
            f"min is {pool.nodes.minimum}, and GKE removes every empty node pool that it made",
            f"write 0, or {_MANAGED}",
            found=pool.nodes.minimum,
            limit=0,
        )
    for path, refused, why in (
        ("fabric", pool.fabric is not Fabric.NONE, "networks of GPU interfaces"),
        ("instanceTypes", is_tpu(pool), "slices of TPUs"),
        ("importId", pool.spec.import_id is not None, "node pools that exist"),
        ("capacity", any(step.queued for step in shape.steps), "queued capacity"),
        ("gke.driver", shape.operator, "nodes without GKE's own driver and plugin"),
    ):
        if refused:
            yield error(
                "compute-class-has-none",
                f"{pool.path}.{path}",
                f"gpufleet declares no {why} by a ComputeClass",
                _MANAGED,
            )
    options = pool.spec.gke or GkeOptions()
    for key in sorted(options.model_fields_set & set(_NO_FIELD)):
        name = GkeOptions.model_fields[key].alias or key
        yield error(
            "compute-class-decides",
            f"{pool.path}.gke.{name}",
            f"`{name}` has no meaning with a ComputeClass: {_NO_FIELD[key]}",
            f"remove it, or {_MANAGED}",
            found=name,
        )
    for index, taint in enumerate(pool.spec.taints):
        if taint.key == COMPUTE_CLASS:
            yield error(
                "taint-twice",
                f"{pool.path}.taints[{index}]",
                f"GKE sets {taint.key} by itself",
                "remove it",
                found=taint.key,
            )
        elif taint.value and not _TAINT_VALUE.match(taint.value):
            yield error(
                "compute-class-taint-value",
                f"{pool.path}.taints[{index}].value",
                f"the definition of ComputeClass refuses the taint value {taint.value!r}: one "
                "character, or at least three of which the first is a small letter or a digit",
                "write another value, or none",
                found=taint.value,
            )
