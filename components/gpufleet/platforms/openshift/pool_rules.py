"""What OpenShift's machine API and its autoscaler refuse of a pool, or would silently do wrong."""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, error, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_clouds import (
    CLOUDS,
    makes_machines,
    options_of,
    sizes_of,
    zones_of,
)
from gpufleet.platforms.openshift.shape import MAX_NAME, machine_set_name
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)

SMALLEST_DISK_GIB = 120
"""Below it nodes may not start (openshift/machine-api-operator `pkg/controller/vsphere`)."""
OTHER_POOLS = ("master", "worker", "arbiter")
"""MachineConfigPools that every cluster has or may have."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def validate_pool(pool: Pool, prefix: str, spec: FleetSpec) -> Iterable[Finding]:
    """Findings on one pool. `prefix` is the first part of its MachineSet's name."""
    yield from _unsupported(pool)
    yield from CLOUDS[pool.platform.name].validate_pool(pool, spec)
    if not makes_machines(pool):
        return
    options, place = options_of(pool), f"{pool.path}.{pool.platform.name.value}"
    yield from _from_zero(pool)
    if pool.spec.disk.size_gib < SMALLEST_DISK_GIB:
        yield _finding(
            "openshift-disk-small",
            pool.path,
            found=pool.spec.disk.size_gib,
            limit=SMALLEST_DISK_GIB,
        )
    if options.machine_config is not None and pool.name in OTHER_POOLS:
        yield _finding(
            "openshift-machine-config-pool-taken",
            pool.path,
            found=pool.name,
            place=place,
            taken=OTHER_POOLS,
        )
    if pool.ownership is not Ownership.EXISTING:
        yield from _name(pool, prefix)


def _unsupported(pool: Pool) -> Iterable[Finding]:
    path, spec = pool.path, pool.spec
    if spec.sharing.dra is not None:
        yield _finding("openshift-dra", path)
    if spec.import_id is not None:
        yield _finding("openshift-import", path, found=spec.import_id)
    if spec.change is not None:
        yield _finding("openshift-change-in-waves", path, platform=pool.platform.name.value)


def _from_zero(pool: Pool) -> Iterable[Finding]:
    """An empty group is described by annotations, which hold one extended resource."""
    offered = sorted(name for name, count in pool.advertised.items() if count > 0)
    fewest = min((sizes_of(pool, zone)[0] for zone in zones_of(pool)), default=1)
    if fewest == 0 and len(offered) > 1:
        yield _finding(
            "openshift-scale-from-zero",
            pool.path,
            fix=(
                f"write min: {max(1, len(zones_of(pool)))}, so that the autoscaler sees a node, "
                "or a pool for each profile"
            ),
            resources=offered,
            found=pool.nodes.minimum,
        )


def _name(pool: Pool, prefix: str) -> Iterable[Finding]:
    if _NAME.fullmatch(prefix) is None:
        yield _finding("openshift-name-illegal", found=prefix, lowered=_lowered(prefix))
        return
    for zone in pool.spec.zones:
        if _NAME.fullmatch(zone) is None:
            yield _finding(
                "openshift-name-illegal/zone", pool.path, found=zone, lowered=_lowered(zone)
            )
    try:
        for zone in zones_of(pool):
            machine_set_name(prefix, pool, zone)
    except ValueError as problem:
        yield error(
            "openshift-name-too-long",
            f"{pool.path}.name",
            str(problem),
            "write a shorter namePrefix",
            limit=MAX_NAME,
        )


def _lowered(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "gpu"
