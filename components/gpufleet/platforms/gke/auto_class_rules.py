"""Findings about pools whose node pools GKE makes by itself, for a ComputeClass.

Sources next to those of `compute_class`: GKE documentation, about node pool auto-creation (no smallest
size; limits are those of the cluster; no surge settings), read 2026-11-23.
"""

import re
from collections.abc import Iterable, Iterator

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.shape import COMPUTE_CLASS, GkeShape
from gpufleet.platforms.gke.tpu import is_tpu
from gpufleet.spec.platforms.gke import GkeOptions
from gpufleet.spec.pool import Fabric, GpuPool, Provisioner

_finding = findings_in(__file__)

_TAINT_VALUE = re.compile(r"^([a-z0-9][-A-Za-z0-9_.]{1,61})?[A-Za-z0-9]$")
_MANAGED = "write `provisioner: managed`"
_NO_FIELD = {
    "accelerator_network_profile": "its definition has no networks",
    "compact_placement": "it takes a resource policy that exists, and gpufleet makes none for it",
    "limits": "no limit of nodes is in force",
    "local_ssd_use": "it has local SSDs as ephemeral storage alone",
    "kms_key": "gpufleet writes no key into it",
    "maintenance_interval": "its definition has no field for it",
    "confidential": "gpufleet writes no technology into it",
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
    yield _finding("compute-class-sharing", f"{path}.sharing.{mode}", found=mode)


def validate_auto_class(pool: Pool, shape: GkeShape, *, autopilot: bool) -> Iterable[Finding]:
    """Everything about such a pool but its sharing; nothing about others."""
    if not auto_created(pool):
        return
    yield _finding(
        "compute-class-without-limit",
        pool.path,
        fix=(
            (
                ""
                if autopilot
                else "set resource limits of node auto-provisioning for the cluster, or "
            )
            + "set a quota of `queues`"
        ),
        found=pool.nodes.maximum,
        pool=pool.name,
    )
    if pool.nodes.minimum > 0:
        yield _finding("compute-class-minimum", pool.path, found=pool.nodes.minimum, limit=0)
    for path, refused, why in (
        ("fabric", pool.fabric is not Fabric.NONE, "networks of GPU interfaces"),
        ("instanceTypes", is_tpu(pool), "slices of TPUs"),
        ("importId", pool.spec.import_id is not None, "node pools that exist"),
        ("capacity", any(step.queued for step in shape.steps), "queued capacity"),
        ("gke.driver", shape.operator, "nodes without GKE's own driver and plugin"),
    ):
        if refused:
            yield _finding("compute-class-has-none", f"{pool.path}.{path}", fix=(_MANAGED), why=why)
    options = pool.spec.gke or GkeOptions()
    for key in sorted(options.model_fields_set & set(_NO_FIELD)):
        name = GkeOptions.model_fields[key].alias or key
        yield _finding(
            "compute-class-decides", f"{pool.path}.gke.{name}", found=name, reason=_NO_FIELD[key]
        )
    for index, taint in enumerate(pool.spec.taints):
        if taint.key == COMPUTE_CLASS:
            yield _finding("taint-twice", f"{pool.path}.taints[{index}]", found=taint.key)
        elif taint.value and not _TAINT_VALUE.match(taint.value):
            yield _finding(
                "compute-class-taint-value", f"{pool.path}.taints[{index}]", found=taint.value
            )
