"""What OpenShift's machine API and its autoscaler refuse of a pool, or would silently do wrong."""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, error, warning
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
        yield warning(
            "openshift-disk-small",
            f"{pool.path}.disk.sizeGib",
            f"{pool.spec.disk.size_gib} GiB; the machine API recommends at least "
            f"{SMALLEST_DISK_GIB}, and driver and CUDA images come on top",
            "write 200, the default",
            found=pool.spec.disk.size_gib,
            limit=SMALLEST_DISK_GIB,
        )
    if options.machine_config is not None and pool.name in OTHER_POOLS:
        yield error(
            "openshift-machine-config-pool-taken",
            f"{pool.path}.name",
            f"a MachineConfigPool {pool.name} exists already, and it belongs to OpenShift",
            f"rename the pool, or remove {place}.machineConfig",
            found=pool.name,
            taken=list(OTHER_POOLS),
        )
    if pool.ownership is not Ownership.EXISTING:
        yield from _name(pool, prefix)


def _unsupported(pool: Pool) -> Iterable[Finding]:
    path, spec = pool.path, pool.spec
    if spec.sharing.dra is not None:
        yield error(
            "openshift-dra",
            f"{path}.sharing.dra",
            "on OpenShift the GPU Operator serves claims by a GPUCluster, which cannot be in a "
            "cluster with the ClusterPolicy that everything else needs",
            "choose timeSlicing, mps or mig; or another cluster, with `ownership: existing`",
        )
    if spec.import_id is not None:
        yield error(
            "openshift-import",
            f"{path}.importId",
            "a MachineSet cannot be imported: its name is derived from what its machines are "
            "created with, and another name is another MachineSet",
            "write `ownership: existing`, or create a second pool and remove the old one",
            found=spec.import_id,
        )
    if spec.change is not None:
        yield error(
            "openshift-change-in-waves",
            f"{path}.change",
            "a MachineSet creates all its machines alike, so nodes cannot change in waves here",
            "remove it: machines are drained and recreated, one MachineSet after the other "
            f"({pool.platform.name.value}.rollout)",
        )


def _from_zero(pool: Pool) -> Iterable[Finding]:
    """An empty group is described by annotations, which hold one extended resource."""
    offered = sorted(name for name, count in pool.advertised.items() if count > 0)
    fewest = min((sizes_of(pool, zone)[0] for zone in zones_of(pool)), default=1)
    if fewest == 0 and len(offered) > 1:
        yield error(
            "openshift-scale-from-zero",
            f"{pool.path}.nodes.min",
            f"nodes offer {', '.join(offered)}, and what an empty MachineSet would offer is "
            "reported "
            "in one pair of annotations: pods that ask for the others would never start a node",
            f"write min: {max(1, len(zones_of(pool)))}, so that the autoscaler sees a node, or a "
            "pool for each profile",
            found=pool.nodes.minimum,
            resources=offered,
        )


def _name(pool: Pool, prefix: str) -> Iterable[Finding]:
    if _NAME.fullmatch(prefix) is None:
        yield error(
            "openshift-name-illegal",
            "namePrefix",
            f"{prefix!r} begins the names of MachineSets, which are lower case letters, digits and "
            "hyphens",
            f"write namePrefix: {_lowered(prefix)}",
            found=prefix,
        )
        return
    for zone in pool.spec.zones:
        if _NAME.fullmatch(zone) is None:
            yield error(
                "openshift-name-illegal",
                f"{pool.path}.zones",
                f"{zone!r} is part of a MachineSet's name, which is lower case letters, digits and "
                "hyphens",
                f"call the failure domain {_lowered(zone)}, here and in the connection",
                found=zone,
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
