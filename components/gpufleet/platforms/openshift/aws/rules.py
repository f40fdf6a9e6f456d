"""What OpenShift's machine API on AWS refuses of a pool, or would silently do wrong.

Sources: see `aws/machines.py`.
"""

import re
from collections.abc import Iterable

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.aws_capacity import validate_block, validate_zones
from gpufleet.platforms.clouds.aws_tags import validate_tags
from gpufleet.platforms.openshift.zonal_rules import validate_zonal_pool
from gpufleet.spec.fleet_spec import FleetSpec

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
            yield error(
                "openshift-reservation-id",
                f"{pool.path}.capacity[{index}].reserved.id",
                f"{entry.reserved.id!r} is not an id of a capacity reservation; the machine API "
                "takes no resource group of reservations",
                "write cr- and 17 hexadecimal digits; a pool for each reservation",
                found=entry.reserved.id,
                limit=RESERVATION.pattern,
            )
    if any(machine.fraction != 1 for machine in pool.machines):
        yield error(
            "openshift-part-of-gpu",
            f"{pool.path}.instanceTypes",
            f"{pool.machines[0].name} has a part of a GPU, whose guest driver for vGPUs the GPU "
            "Operator does not have by itself",
            "choose a machine with whole GPUs, and share them: `sharing: {timeSlicing: ...}`",
            found=pool.machines[0].name,
        )


def validate_aws_fleet(spec: FleetSpec) -> Iterable[Finding]:
    """Tags of all machines."""
    yield from validate_tags(spec.tags, "tags")
    for key in spec.tags:
        if key in OVERWRITTEN or key.startswith(OVERWRITTEN_PREFIX):
            yield error(
                "tag-reserved",
                f"tags.{key}",
                f"the machine API writes the tag {key} of its machines itself, and drops another",
                "choose another key",
                found=key,
            )
