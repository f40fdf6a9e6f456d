"""Number of nodes of a GKE pool and its zones: limits count per zone, or in total."""

import re
from typing import Any

from gpufleet.catalogue.google_zones import region_of_google_zone
from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.cluster.pool import Size
from gpufleet_policies.readers.blocks import inside, number, texts, word

_REGION = re.compile(r"^[a-z]+-[a-z]+[0-9]+$")
_REGION_ZONES = 3
"""Zones a regional cluster's pools span when none are named (GKE: regional clusters)."""


def zones_of(document: dict[str, Any]) -> Fact[tuple[str, ...]]:
    """The zones it names, or the one its location is; absent: it names none."""
    named = texts(document, "nodeLocations")
    if not named.is_absent:
        return named
    location = word(document, "location")
    if location.is_known and region_of_google_zone(location.value) is not None:
        return known((location.value,), place="location")
    return absent("nodeLocations")


def zone_count(document: dict[str, Any], zones: Fact[tuple[str, ...]]) -> Fact[int]:
    """In how many zones its nodes are."""
    if zones.is_known:
        return known(len(zones.value), place=zones.place)
    location = word(document, "location")
    if zones.is_absent and location.is_known and _REGION.match(location.value):
        return known(_REGION_ZONES, place="location")
    return unknown("nodeLocations")


def size_of(document: dict[str, Any], zones: Fact[int]) -> Size:
    """Its smallest, largest and present size in nodes, over all zones."""
    scaling = inside(document, "autoscaling")
    if scaling is None:
        per_zone = number(document, "nodeCount")
        place = "nodeCount"
        if per_zone.is_absent:
            per_zone, place = number(document, "initialNodeCount"), "initialNodeCount"
        fixed = _times(per_zone.or_default(1), zones)
        return Size(fixed, fixed, fixed, place, place, fixed=True, zones=zones.found or 1)
    if inside(scaling, "totalMaxNodeCount") is not None:
        return Size(
            number(scaling, "totalMinNodeCount").or_default(0),
            number(scaling, "totalMaxNodeCount"),
            absent("nodeCount"),
            "autoscaling.totalMinNodeCount",
            "autoscaling.totalMaxNodeCount",
        )
    return Size(
        _times(number(scaling, "minNodeCount").or_default(0), zones),
        _times(number(scaling, "maxNodeCount"), zones),
        absent("nodeCount"),
        "autoscaling.minNodeCount",
        "autoscaling.maxNodeCount",
        zones=zones.found or 1,
    )


def _times(per_zone: Fact[int], zones: Fact[int]) -> Fact[int]:
    if per_zone.found == 0:
        return per_zone
    if not per_zone.is_known:
        return per_zone
    if not zones.is_known:
        return unknown(per_zone.place)
    return known(per_zone.value * zones.value, place=per_zone.place)
