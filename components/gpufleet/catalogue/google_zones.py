"""Names of Google Cloud's zones.

A zone is a region and a letter, `us-central1-a`; an AI zone is a region, `ai`, a number and a
letter, `us-south1-ai1b` (Compute Engine documentation, regions-zones and regions-zones/ai-zones,
read 2026-11-28). Google adds names, so another ending is a warning, never an error.
"""

import re

from gpufleet.catalogue.lookup import nearest_names

_ZONE = re.compile(r"(?P<region>[a-z]+-[a-z]+[0-9]+)-(?:[a-z]|ai[0-9]+[a-z])")
_ENDINGS = (*"abcdef", *(f"ai{number}{letter}" for number in (1, 2) for letter in "abc"))


def region_of_google_zone(zone: str) -> str | None:
    """The region that a zone is in; None: the name is not a known form of a zone."""
    found = _ZONE.fullmatch(zone)
    return None if found is None else found["region"]


def is_zone_of(zone: str, region: str | None) -> bool | None:
    """Whether the zone is in the region; `region` None: in any region. None if the region fits and
    the ending of the zone is unknown."""
    if region is not None and not zone.startswith(f"{region}-"):
        return False
    found = region_of_google_zone(zone)
    return True if found is not None and region in {found, None} else None


def nearest_zone(zone: str, region: str | None) -> str:
    """The valid zone name in the region that is most similar to `zone`."""
    region = region or "us-central1"
    near = nearest_names(zone, [f"{region}-{ending}" for ending in _ENDINGS], limit=1)
    return near[0] if near else f"{region}-a"
