"""What OpenShift's machine API on AWS refuses of a pool, or would silently do wrong.

Sources: see `aws/machines.py`.
"""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.aws_capacity import validate_block, validate_zones
from gpufleet.platforms.clouds.aws_tags import validate_tags
from gpufleet.platforms.openshift.zonal_rules import validate_zonal_pool
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)

RESERVATION = re.compile(r"^cr-[0-9a-f]{17}$")
"""The only form of a reservation's id that the machine API takes."""
OVERWRITTEN = ("Name",)
OVERWRITTEN_PREFIX = "kubernetes.io/cluster/"
"""Tags that the machine API leaves out of a machine and writes itself."""


def validate_aws_pool(pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
    """Zones, machine type, reservations of a pool that gpufleet makes."""
    region = spec.cluster.region
    yield from validate_zonal_pool(pool, f"{region}a")
    block = any(entry.capacity_block is not None for entry in pool.capacity)
    why = "a Capacity Block is in one zone" if block else None
    yield from validate_zones(pool, pool.spec.zones, why, region)
    yield from validate_block(pool)
    for index, entry in enumerate(pool.capacity):
        if entry.reserved is not None and not RESERVATION.match(entry.reserved.id):
            yield _finding(
                "openshift-reservation-id",
                f"{pool.path}.capacity[{index}]",
                found=entry.reserved.id,
                limit=RESERVATION.pattern,
            )
    if any(machine.fraction != 1 for machine in pool.machines):
        yield _finding("openshift-part-of-gpu", pool.path, found=pool.machines[0].name)


def validate_aws_fleet(spec: FleetSpec) -> Iterable[Finding]:
    """Tags of all machines."""
    yield from validate_tags(spec.tags, "tags")
    for key in spec.tags:
        if key in OVERWRITTEN or key.startswith(OVERWRITTEN_PREFIX):
            yield _finding("tag-reserved", f"tags.{key}", found=key)
