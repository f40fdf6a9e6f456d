"""What OpenShift's machine API on Google Cloud refuses of a pool, or would silently do wrong.

Sources: see `gcp/machines.py`.
"""

from collections.abc import Iterable

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_machines import boot_disks, validate_host, validate_zone_names
from gpufleet.platforms.openshift.zonal_rules import validate_zonal_pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift_gcp import OpenShiftGcpOptions

_finding = findings_in(__file__)

DISK_TYPES = ("pd-balanced", "pd-ssd", "pd-standard")
"""Types of disks that the machine API takes."""


def validate_gcp_pool(pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
    """Zones, machine type, disks of a pool that gpufleet makes."""
    region = spec.cluster.region
    yield from validate_zonal_pool(pool, f"{region}-a")
    named = [(f"{pool.path}.zones[{i}]", zone) for i, zone in enumerate(pool.spec.zones)]
    yield from validate_zone_names(named, region)
    row = pool.machines[0].instance
    if row is None:
        return
    yield from validate_host(pool, row)
    options = pool.spec.openshift_gcp or OpenShiftGcpOptions()
    taken = boot_disks(row) or DISK_TYPES
    possible = [kind for kind in taken if kind in DISK_TYPES]
    if not possible:
        yield _finding(
            "openshift-machine-needs-hyperdisk",
            pool.path,
            found=row.name,
            taken=taken,
            limit=DISK_TYPES,
        )
    elif options.disk_type is not None and options.disk_type not in possible:
        yield _finding(
            "openshift-disk-type",
            pool.path,
            machine=row.name,
            allowed=possible,
            found=options.disk_type,
        )
    spot = any(entry.spot is not None for entry in pool.capacity)
    if spot and options.spot_model == "preemptible" and pool.nodes.minimum > 0:
        yield _finding(
            "openshift-preemptible-ends",
            pool.path,
            minimum=pool.nodes.minimum,
            found=options.spot_model,
        )
