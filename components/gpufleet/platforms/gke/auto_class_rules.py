"""Findings about pools whose node pools GKE creates, for a ComputeClass.

Sources besides those of `compute_class`: GKE documentation, about node pool auto-creation (no
minimum size; limits are those of the cluster; no surge settings), read 2026-11-23.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.shape import COMPUTE_CLASS, GkeShape
from gpufleet.platforms.gke.tpu import is_tpu
from gpufleet.platforms.unused_options import unused_options
from gpufleet.spec.pool import Fabric, GpuPool, Provisioner

_finding = findings_in(__file__)

_TAINT_VALUE = re.compile(r"^([a-z0-9][-A-Za-z0-9_.]{1,61})?[A-Za-z0-9]$")
_MANAGED = "write `provisioner: managed`"


def validate_class_sharing(pool: GpuPool, path: str) -> Iterator[Finding]:
    """A ComputeClass has type, number and driver of GPUs, but no partition and no clients."""
    mode = pool.sharing.mode
    if pool.provisioner is not Provisioner.COMPUTE_CLASS or mode == "exclusive":
        return
    yield _finding("compute-class-sharing", f"{path}.sharing.{mode}", found=mode)


def validate_auto_class(pool: Pool, shape: GkeShape, *, autopilot: bool) -> Iterable[Finding]:
    """All findings about such a pool except its sharing; empty for other pools."""
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
    for path, refused, why in (
        ("fabric", pool.fabric is not Fabric.NONE, "networks of GPU interfaces"),
        ("instanceTypes", is_tpu(pool), "slices of TPUs"),
        ("importId", pool.spec.import_id is not None, "node pools that exist"),
        ("capacity", any(step.queued for step in shape.steps), "queued capacity"),
        ("gke.driver", shape.operator, "nodes without GKE's own driver and plugin"),
    ):
        if refused:
            yield _finding("compute-class-has-none", f"{pool.path}.{path}", fix=(_MANAGED), why=why)
    for _, name, because in unused_options(pool, Path(__file__).parent):
        place = f"{pool.path}.gke.{name}"
        yield _finding("compute-class-decides", place, found=name, reason=because)
    for index, taint in enumerate(pool.spec.taints):
        if taint.key != COMPUTE_CLASS and taint.value and not _TAINT_VALUE.match(taint.value):
            yield _finding(
                "compute-class-taint-value", f"{pool.path}.taints[{index}]", found=taint.value
            )
