"""Regions of the clouds by name, to tell a slip of the pen from a region.

AWS: botocore's endpoint table (partitions aws, aws-cn and aws-us-gov). Google Cloud: the regions
its documentation lists (Workload Manager, locations). Both read on 2026-11-21; regions that priced
offers of the catalogue name are known besides. A cloud opens regions between editions, so an
unknown name is doubted, never refused.
"""

from collections.abc import Collection

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.google_zones import region_of_google_zone
from gpufleet.catalogue.instance import Cloud
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, warning

_AWS = """
af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2
ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6
ap-southeast-7 ca-central-1 ca-west-1 cn-north-1 cn-northwest-1 eu-central-1 eu-central-2 eu-north-1
eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 il-central-1 me-central-1 me-south-1
mx-central-1 sa-east-1 us-east-1 us-east-2 us-gov-east-1 us-gov-west-1 us-west-1 us-west-2
"""
_GOOGLE = """
africa-south1 asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1
asia-south2 asia-southeast1 asia-southeast2 australia-southeast1
australia-southeast2 europe-central2 europe-north1 europe-north2 europe-southwest1 europe-west1
europe-west2 europe-west3 europe-west4 europe-west6 europe-west8 europe-west9 europe-west10
europe-west12 me-central1 me-central2 me-west1 northamerica-northeast1 northamerica-northeast2
northamerica-south1 southamerica-east1 southamerica-west1 us-central1 us-east1 us-east4 us-east5
us-south1 us-west1 us-west2 us-west3 us-west4
"""
_LISTED = {Cloud.AWS: frozenset(_AWS.split()), Cloud.GCP: frozenset(_GOOGLE.split())}


def known_regions(cloud: Cloud, catalogue: Catalogue) -> frozenset[str]:
    """Every region of a cloud that is known: listed here, or named by a price."""
    priced = {
        price.region
        for row in catalogue.instances.values()
        if row.cloud == cloud
        for price in (row.on_demand, row.spot, *row.other_prices.values())
        if price.region is not None
    }
    return _LISTED.get(cloud, frozenset()) | priced


def check_region(
    region: str | None, clouds: Collection[Cloud], catalogue: Catalogue, path: str
) -> tuple[Finding, ...]:
    """A warning for a region that none of the clouds is known to have, with the nearest names.
    No cloud and no region are not validated."""
    if region is None or not clouds:
        return ()
    known = sorted(frozenset[str]().union(*(known_regions(one, catalogue) for one in clouds)))
    if region in known:
        return ()
    around = region_of_google_zone(region) or region[:-1]  # us-central1-a, us-east-1a
    if around in known:
        return (
            warning(
                "region-unknown",
                path,
                f"{region!r} is a zone: what is sold in a region, and its price, are not known",
                f"write {around}, and name zones under `zones` of a pool",
                value=region,
                nearest=[around],
            ),
        )
    near = nearest_names(region, known)
    of = " or ".join(dict.fromkeys(cloud.value for cloud in clouds))
    return (
        warning(
            "region-unknown",
            path,
            f"no region {region!r} of {of} is known: what is sold there, and its price, are not",
            f"write {' or '.join(near)}" if near else f"a region of {of}, such as {known[-1]}",
            value=region,
            nearest=list(near),
        ),
    )
