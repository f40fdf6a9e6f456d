"""The region of a cloud object, as far as the object states it."""

import re
from typing import Any

from gpufleet.cluster.fact import Fact, absent, known
from gpufleet.cluster.pool import region_of_zones
from gpufleet_policies.readers.blocks import texts, word

_REGION = re.compile(r"^[a-z]+-[a-z0-9-]{1,40}[0-9]$")
_ARNS = ("arn", "nodeGroupArn")


def region_of(document: Any, *places: str) -> Fact[str]:
    """From `region`, from these other places, from its ARN or its zones; absent without any.

    A value that is not a region, like a zone at GKE's `location`, is ignored.
    """
    for place in ("region", *places):
        found = word(document, place)
        if found.is_known and _REGION.match(found.value):
            return known(found.value, place=place)
    for place in _ARNS:
        found = word(document, place)
        parts = found.value.split(":") if found.is_known else []
        if len(parts) > 4 and _REGION.match(parts[3]):
            return known(parts[3], place=place)
    zone, zones = word(document, "availabilityZone"), texts(document, "availabilityZones")
    named = (zone.value,) if zone.is_known else zones.value if zones.is_known else ()
    region = region_of_zones(named)
    return absent("region") if region is None else known(region, place="availabilityZones")
