"""Regions of the clouds by name, to distinguish a typing error from a region.

Rows of `clouds.jsonl` list them; regions that priced machine types of the catalogue name are known
besides. A cloud opens regions between editions, so an unknown name is a warning, never an error; a
region of another cloud is an error.
"""

from collections.abc import Collection

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.google_zones import region_of_google_zone
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)

_CONTINENTS = (
    {"us"},
    {"europe", "eu"},
    {"asia", "ap", "australia"},
    {"africa", "af"},
    {"me", "il"},
    {"northamerica", "ca", "mx"},
    {"southamerica", "sa"},
)
"""First words of names that mean the same part of the world."""


def known_regions(cloud: str, catalogue: Catalogue) -> frozenset[str]:
    """Every region of a cloud that is known: listed here, or named by a price."""
    priced = {
        price.region
        for row in catalogue.instances.values()
        if row.cloud == cloud
        for price in (row.on_demand, row.spot, *row.other_prices.values())
        if price.region is not None
    }
    return frozenset(catalogue.clouds[cloud].regions) | priced


def check_region(
    region: str | None, clouds: Collection[str], catalogue: Catalogue, path: str
) -> tuple[Finding, ...]:
    """A warning for a region that is unknown in all of the clouds, with the nearest names; an
    error for one that only another cloud has, with the nearest place. No cloud and no region are
    not validated."""
    if region is None or not clouds:
        return ()
    known = sorted(frozenset[str]().union(*(known_regions(one, catalogue) for one in clouds)))
    if region in known:
        return ()
    around = region_of_google_zone(region) or region[:-1]  # us-central1-a, us-east-1a
    of = " or ".join(dict.fromkeys(clouds))
    for cloud in (key for key, row in catalogue.clouds.items() if row.regions):
        elsewhere = known_regions(cloud, catalogue)
        meant = next((name for name in (region, around) if name in elsewhere), None)
        if cloud not in clouds and meant is not None:
            place = _nearest_place(meant, known, catalogue)
            return (
                _finding(
                    "region-of-other-cloud",
                    path,
                    fix=(
                        f"write {place}, or another region of {of}"
                        if place
                        else f"write a region of {of}"
                    ),
                    value=region,
                    cloud=cloud,
                    of=of,
                    nearest=[place] if place else [],
                ),
            )
    if around in known:
        return (
            _finding("region-unknown/zone", path, value=region, around=around, nearest=[around]),
        )
    near = nearest_names(region, known)
    return (
        _finding(
            "region-unknown",
            path,
            fix=(
                f"write {' or '.join(near)}" if near else f"a region of {of}, such as {known[-1]}"
            ),
            value=region,
            of=of,
            nearest=near,
        ),
    )


def _nearest_place(region: str, known: Collection[str], catalogue: Catalogue) -> str | None:
    """The region of another cloud in the same place, else one on the same continent with the most
    similar name."""
    pairs = (pair for cloud in catalogue.clouds.values() for pair in cloud.same_place.items())
    same = next((b if a == region else a for a, b in pairs if region in (a, b)), None)
    if same in known:
        return same
    first = region.partition("-")[0]
    words = next((one for one in _CONTINENTS if first in one), {first})
    around = [name for name in sorted(known) if name.partition("-")[0] in words]
    return next(iter(nearest_names(region, around, limit=1, likeness=0)), None)
