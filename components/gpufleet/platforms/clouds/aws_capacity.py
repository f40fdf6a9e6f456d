"""Zones, reservations and Capacity Blocks of EC2, whatever launches the machines."""

import re
from collections.abc import Iterable, Sequence

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool

MOST_INSTANCES = 64
"""Maximum number of instances of one Capacity Block (EC2 service model,
DescribeCapacityBlockOfferings)."""
MOST_DAYS = 182
"""Longest Capacity Block, in days (same source)."""

_ZONE_OF_REGION = re.compile(r"^(-[a-z]+-[0-9]+)?[a-z]$")
"""What follows the region: `a`, or of a local zone `-lax-1a`."""
_WAVELENGTH = re.compile(r"-wl[0-9]+-[a-z]+-wlz-[0-9]+$")
"""Zone of a mobile network (`us-east-1-wl1-bos-wlz-1`)."""
_RESERVATION_GROUP = re.compile(
    r"^arn:aws[a-z-]*:resource-groups:([a-z0-9-]+):[0-9]{12}:group/[\w.-]+$"
)


def reservation_group_region(identifier: str) -> str | None:
    """Region of a resource group of capacity reservations; None where the id is none of one."""
    found = _RESERVATION_GROUP.match(identifier)
    return None if found is None else found[1]


def validate_zones(
    pool: Pool, zones: Sequence[str], one_zone: str | None, region: str | None
) -> Iterable[Finding]:
    """Zones that a pool names, and those of its reservations.

    Args:
        pool: The pool.
        zones: Zones in which its machines are.
        one_zone: Why all of them must be in one zone; None where they need not.
        region: Region of the cluster.
    """
    for index, zone in enumerate(pool.spec.zones):
        if _WAVELENGTH.search(zone):
            yield error(
                "zone-of-wavelength",
                f"{pool.path}.zones[{index}]",
                f"{zone} is a Wavelength zone: nodes are made in availability zones and local "
                "zones",
                f"write an availability zone ({region}a), or a local zone ({region}-bos-1a)",
                found=zone,
            )
        elif region is not None and not _may_be_zone(zone, region):
            yield error(
                "zone-not-in-region",
                f"{pool.path}.zones[{index}]",
                f"{zone} is not a zone of {region}",
                f"write it as {region}a",
                found=zone,
                limit=region,
            )
        else:
            yield from _doubted(zone, region, f"{pool.path}.zones[{index}]")
    if one_zone is not None and len(zones) > 1:
        yield error(
            "zones-too-many",
            f"{pool.path}.zones",
            f"{', '.join(zones)} are {len(zones)} zones, and {one_zone}",
            f"write `zones: [{zones[0]}]`, and make a pool for each zone",
            found=list(zones),
            limit=1,
        )
    for index, entry in enumerate(pool.capacity):
        bought = entry.capacity_block or entry.reserved
        of_group = None if bought is None else reservation_group_region(bought.id)
        if None not in (of_group, region) and of_group != region:
            yield error(
                "reservation-group-in-other-region",
                f"{pool.path}.capacity[{index}].reserved.id",
                f"the resource group is in {of_group}, and the cluster in {region}",
                "name a group of reservations in the cluster's region",
                found=of_group,
                limit=region,
            )
        if bought is None or bought.zone is None:
            continue
        place = f"{pool.path}.capacity[{index}].{entry.mode}.zone"
        yield from _doubted(bought.zone, region, place)
        if region is not None and not _may_be_zone(bought.zone, region):
            yield error(
                "zone-not-in-region",
                place,
                f"{bought.zone} is not a zone of {region}",
                "a reservation of another region cannot be used here",
                found=bought.zone,
                limit=region,
            )
        if pool.spec.zones and bought.zone not in pool.spec.zones:
            yield error(
                "reservation-in-other-zone",
                place,
                f"the reservation is in {bought.zone}, and the pool's zones are "
                f"{', '.join(pool.spec.zones)}",
                f"write `zones: [{bought.zone}]`, or remove `zones`",
                found=bought.zone,
                allowed=list(pool.spec.zones),
            )


def _may_be_zone(zone: str, region: str) -> bool:
    """Whether it begins as zones of the region do: another number is another region."""
    return re.match(rf"{re.escape(region)}[^0-9]", zone) is not None


def _doubted(zone: str, region: str | None, place: str) -> Iterable[Finding]:
    """AWS invents names of zones: an ending of the region that is not known is doubted only."""
    if region is None or not _may_be_zone(zone, region):
        return
    if _ZONE_OF_REGION.match(zone.removeprefix(region)):
        return
    known = [f"{region}{letter}" for letter in "abcdef"]
    near = nearest_names(zone, known, limit=1) or (known[0],)
    yield warning(
        "zone-unknown",
        place,
        f"{zone} begins as zones of {region} do, and a zone with such an ending is not known",
        f"write {near[0]}, if that is what you mean",
        found=zone,
    )


def validate_block(pool: Pool) -> Iterable[Finding]:
    """The size and length of Capacity Blocks."""
    for index, entry in enumerate(pool.capacity):
        block = entry.capacity_block
        if block is None:
            continue
        if len(pool.capacity) == 1 and pool.nodes.maximum > MOST_INSTANCES:
            yield warning(
                "capacity-block-larger-than-sold",
                f"{pool.path}.nodes.max",
                f"max is {pool.nodes.maximum}, and EC2 sells blocks of at most {MOST_INSTANCES} "
                "instances",
                f"write {MOST_INSTANCES}, and make a pool for each block",
                found=pool.nodes.maximum,
                limit=MOST_INSTANCES,
            )
        days = 0 if block.starts is None else (block.until - block.starts).days
        if days > MOST_DAYS:
            yield warning(
                "capacity-block-longer-than-sold",
                f"{pool.path}.capacity[{index}].capacityBlock.until",
                f"from starts to until are {days} days, and EC2 sells {MOST_DAYS} at most",
                "compare both with the reservation: `gpufleet preflight` does",
                found=days,
                limit=MOST_DAYS,
            )
