"""Zones, reservations and Capacity Blocks of EC2, for every launcher of machines."""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta

from gpufleet.catalogue import load
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool

_finding, _rules = findings_in(__file__), rules_in(__file__)

_ZONE_OF_REGION = re.compile(r"^(-[a-z]+-[0-9]+)?[a-z]$")
"""Suffix of the region in a zone: `a`, or `-lax-1a` of a local zone."""
_WAVELENGTH = re.compile(r"-wl[0-9]+-[a-z]+-wlz-[0-9]+$")
"""Zone of a mobile network (`us-east-1-wl1-bos-wlz-1`)."""
_RESERVATION_GROUP = re.compile(
    r"^arn:aws[a-z-]*:resource-groups:([a-z0-9-]+):[0-9]{12}:group/[\w.-]+$"
)


def reservation_group_region(identifier: str) -> str | None:
    """Region of a resource group of capacity reservations; None if the id is not one."""
    found = _RESERVATION_GROUP.match(identifier)
    return None if found is None else found[1]


def validate_zones(
    pool: Pool, zones: Sequence[str], one_zone: str | None, region: str | None
) -> Iterable[Finding]:
    """Zones of a pool, and those of its reservations.

    Args:
        pool: The pool.
        zones: Zones of its machines.
        one_zone: Why all of them must be in one zone; None if they need not.
        region: Region of the cluster.
    """
    for index, zone in enumerate(pool.spec.zones):
        if _WAVELENGTH.search(zone):
            yield _finding(
                "zone-of-wavelength", f"{pool.path}.zones[{index}]", found=zone, region=region
            )
        elif region is not None and not _may_be_zone(zone, region):
            yield _finding(
                "zone-not-in-region/id", f"{pool.path}.zones[{index}]", found=zone, limit=region
            )
        else:
            yield from _doubted(zone, region, f"{pool.path}.zones[{index}]")
    yield from _rules("zones", pool.path, zones=zones, one_zone=one_zone)
    for index, entry in enumerate(pool.capacity):
        bought = entry.capacity_block or entry.reserved
        of_group = None if bought is None else reservation_group_region(bought.id)
        if None not in (of_group, region) and of_group != region:
            yield _finding(
                "reservation-group-in-other-region",
                f"{pool.path}.capacity[{index}]",
                found=of_group,
                limit=region,
            )
        if bought is None or bought.zone is None:
            continue
        place = f"{pool.path}.capacity[{index}].{entry.mode}.zone"
        yield from _doubted(bought.zone, region, place)
        if region is not None and not _may_be_zone(bought.zone, region):
            yield _finding("zone-not-in-region", place, found=bought.zone, limit=region)
        if pool.spec.zones and bought.zone not in pool.spec.zones:
            yield _finding(
                "reservation-in-other-zone", place, found=bought.zone, allowed=pool.spec.zones
            )


def _may_be_zone(zone: str, region: str) -> bool:
    """Whether it has the prefix of the region's zones: another number is another region."""
    return re.match(rf"{re.escape(region)}[^0-9]", zone) is not None


def _doubted(zone: str, region: str | None, place: str) -> Iterable[Finding]:
    """AWS adds new zone names: an unknown suffix of the region is only a warning."""
    if region is None or not _may_be_zone(zone, region):
        return
    if _ZONE_OF_REGION.match(zone.removeprefix(region)):
        return
    known = [f"{region}{letter}" for letter in "abcdef"]
    near = nearest_names(zone, known, limit=1) or (known[0],)
    yield _finding("zone-unknown", place, found=zone, region=region, near=near[0])


def validate_block(pool: Pool) -> Iterable[Finding]:
    """The size, length and dates of Capacity Blocks, compared with the offers of EC2."""
    sold = load().clouds["aws"].blocks
    ahead = timedelta(weeks=sold["weeks_ahead"])
    for index, entry in enumerate(pool.capacity):
        block = entry.capacity_block
        if block is None:
            continue
        starts = block.starts
        yield from _rules(
            "block",
            f"{pool.path}.capacity[{index}]",
            pool=pool,
            sold=sold,
            starts=starts,
            days=0 if starts is None else (block.until - starts).days,
            ends=f"{block.until:%H:%M}",
            latest=pool.at and pool.at + ahead,
            opens=starts and starts - ahead,
        )
