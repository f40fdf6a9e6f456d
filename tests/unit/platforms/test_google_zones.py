"""AI zones are believed wherever a zone of Google Cloud is written; other endings are doubted.

Names: Compute Engine documentation, regions-zones/ai-zones.
"""

from collections.abc import Callable, Sequence

import pytest

from gpufleet.catalogue.google_zones import is_zone_of, region_of_google_zone
from gpufleet.cluster.pool import region_of_zones
from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.cluster_plan import gke_cluster_plan
from gpufleet.spec.platforms.gke import DeclaredGkeCluster
from gpufleet_policies.readers.gke import zones_of

AI = ("us-south1-ai1b", "us-south1-a")


def gke(zone: str) -> Sequence[Finding]:
    return pool("gke", zone)


def openshift(zone: str) -> Sequence[Finding]:
    return pool("openshiftGcp", zone)


def cluster(zone: str) -> Sequence[Finding]:
    given = {"project": "my-project", "clusterName": "ml", "region": "us-south1", "zones": [zone]}
    return gke_cluster_plan(DeclaredGkeCluster.model_validate(given))[1]


def pool(platform: str, zone: str) -> Sequence[Finding]:
    one = {"name": "p", "gpu": "L4", "zones": [zone], "nodes": {"min": 0, "max": 2}}
    head = {"catalogue": "2026.11", "platform": platform}
    return compile_data(
        {**head, "cluster": {"name": "a", "region": "us-south1"}, "pools": [one]}
    ).findings


def about_zones(found: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [(f.code, f.severity.value, f.fix or "") for f in found if "zones[" in f.path]


PLACES = pytest.mark.parametrize("place", [gke, openshift, cluster])


@PLACES
@pytest.mark.parametrize("zone", AI)
def test_ai_zones_are_zones(place: Callable[[str], Sequence[Finding]], zone: str) -> None:
    assert about_zones(place(zone)) == []


@PLACES
@pytest.mark.parametrize(
    ("zone", "nearest"), [("us-south1-ai1", "us-south1-ai1"), ("us-south1-aa", "us-south1-a")]
)
def test_a_new_ending_is_doubted_with_the_nearest(
    place: Callable[[str], Sequence[Finding]], zone: str, nearest: str
) -> None:
    ((code, severity, fix),) = about_zones(place(zone))
    assert (code, severity) == ("zone-unknown", "warning")
    assert f"write {nearest}" in fix


@PLACES
@pytest.mark.parametrize("zone", ["us-east1-b", "us-east1-ai1b", "us-south1"])
def test_another_regions_zone_is_refused(
    place: Callable[[str], Sequence[Finding]], zone: str
) -> None:
    ((_, severity, _),) = about_zones(place(zone))
    assert severity == "error"


def test_the_audit_knows_their_region() -> None:
    assert region_of_zones(AI) == "us-south1"
    assert region_of_zones(("us-south1-ai1b", "us-east1-b")) is None
    assert region_of_zones(("us-south1-ai1b", "subnet")) is None
    assert region_of_zones(("us-east-1a",)) == "us-east-1"
    assert zones_of({"location": AI[0]}).value == (AI[0],)


def test_without_a_region_the_form_decides() -> None:
    assert is_zone_of("us-south1-ai1b", None) is True
    assert is_zone_of("cellar", None) is None
    assert region_of_google_zone("us-south1") is None
