"""What OpenShift's machine API on Google Cloud refuses of a pool, or would silently do wrong.

Sources: see `gcp/machines.py`.
"""

from collections.abc import Iterable

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_machines import boot_disks, validate_host, validate_zone_names
from gpufleet.platforms.openshift.zonal_rules import validate_zonal_pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift_gcp import OpenShiftGcpOptions

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
        yield error(
            "openshift-machine-needs-hyperdisk",
            f"{pool.path}.instanceTypes",
            f"{row.name} boots from {', '.join(taken)} alone, and the machine API takes "
            f"{', '.join(DISK_TYPES)}",
            "choose a machine of N1, G2, A2 or A3 High; A3 Ultra and later run on GKE",
            found=row.name,
            limit=list(DISK_TYPES),
        )
    elif options.disk_type is not None and options.disk_type not in possible:
        yield error(
            "openshift-disk-type",
            f"{pool.path}.openshiftGcp.diskType",
            f"{row.name} boots from {', '.join(possible)}, and {options.disk_type} is declared",
            "leave diskType out",
            found=options.disk_type,
            allowed=possible,
        )
    spot = any(entry.spot is not None for entry in pool.capacity)
    if spot and options.spot_model == "preemptible" and pool.nodes.minimum > 0:
        yield warning(
            "openshift-preemptible-ends",
            f"{pool.path}.openshiftGcp.spotModel",
            "preemptible machines end after 24 hours at the latest, all that started together at "
            f"the same time; {pool.nodes.minimum} always run",
            "write spotModel: spot, where the cluster's machine API has provisioningModel",
            found=options.spot_model,
        )
