"""Regions are distinguished from typing errors, in fleets, plans and sizes."""

import json
from importlib.resources import files

import pytest
from click.testing import CliRunner

from gpufleet.catalogue import AWS, GCP, load
from gpufleet.catalogue.regions import check_region, known_regions
from gpufleet.platforms.compiled import compile_data
from gpufleet_planner.commands.size import command
from gpufleet_planner.planning.plan import plan

CATALOGUE = load()


@pytest.mark.parametrize(
    ("cloud", "region", "nearest"),
    [(AWS, "us-eats-1", "us-east-1"), (GCP, "us-centrall1", "us-central1")],
)
def test_an_unknown_region_is_doubted_with_the_nearest(
    cloud: str, region: str, nearest: str
) -> None:
    (found,) = check_region(region, (cloud,), CATALOGUE, "cluster.region")
    assert (found.code, found.severity.value) == ("region-unknown", "warning")
    assert found.path == "cluster.region"
    assert repr(region) in found.message
    assert nearest in (found.fix or "")


@pytest.mark.parametrize(
    ("clouds", "region"),
    [
        ((AWS,), "eu-west-1"),
        ((GCP,), "us-central1"),
        ((AWS, GCP), "us-central1"),
        ((AWS,), None),
        ((), "cellar"),
    ],
)
def test_known_regions_and_places_without_any_pass(
    clouds: tuple[str, ...], region: str | None
) -> None:
    assert check_region(region, clouds, CATALOGUE, "region") == ()


@pytest.mark.parametrize(
    ("cloud", "region", "place"),
    [
        (AWS, "us-central1", "us-east-1"),
        (AWS, "us-east4", "us-east-1"),  # Northern Virginia
        (AWS, "europe-west3", "eu-central-1"),  # Frankfurt
        (AWS, "us-central1-a", "us-east-1"),
        (AWS, "us-south1-ai1b", "us-east-1"),
        (AWS, "me-central1", "me-central-1"),
        (GCP, "us-east-1", "us-east4"),
        (GCP, "us-east-1a", "us-east4"),
        (GCP, "ap-southeast-2", "australia-southeast1"),  # Sydney
        (GCP, "eu-west-1", "europe-west1"),
    ],
)
def test_a_region_of_the_other_cloud_is_refused_with_the_nearest_place(
    cloud: str, region: str, place: str
) -> None:
    (found,) = check_region(region, (cloud,), CATALOGUE, "cluster.region")
    assert (found.code, found.severity.value) == ("region-of-other-cloud", "error")
    assert f"write {place}," in (found.fix or "")


def test_every_region_of_the_other_cloud_has_a_place() -> None:
    for cloud, other in ((AWS, GCP), (GCP, AWS)):
        for region in known_regions(other, CATALOGUE):
            (found,) = check_region(region, (cloud,), CATALOGUE, "region")
            assert found.code == "region-of-other-cloud", region


def test_every_region_of_a_price_is_known() -> None:
    for row in CATALOGUE.instances.values():
        if row.on_demand.region is not None:
            assert row.on_demand.region in known_regions(row.cloud, CATALOGUE)


def test_aws_regions_are_those_of_botocore() -> None:
    text = files("botocore").joinpath("data/endpoints.json").read_text()
    wanted = ("aws", "aws-cn", "aws-us-gov")
    table = [p for p in json.loads(text)["partitions"] if p["partition"] in wanted]
    assert {name for part in table for name in part["regions"]} <= known_regions(AWS, CATALOGUE)


def test_fleets_plans_and_sizes_say_so() -> None:
    head = {"platform": "eks", "cluster": {"name": "ml", "region": "us-eats-1"}}
    pool = {"name": "a", "instanceTypes": ["g6.xlarge"], "nodes": {"min": 0, "max": 1}}
    compiled = compile_data({**head, "catalogue": "2026.11", "pools": [pool]})
    work = {"name": "chat", "workload": "inference", "model": "Llama-3.2-1B", "context": 2048}
    planned = plan({**head, "workloads": [work]})
    for answer in (compiled, planned):
        (found,) = [f for f in answer.findings if f.code == "region-unknown"]
        assert found.path == "cluster.region"
    arguments = ["size", "--model", "Llama-3.2-1B", "--context", "2048", "--region", "us-eats-1"]
    shown = CliRunner().invoke(command, arguments[1:])
    assert "region 'us-eats-1' is not in the catalogue" in shown.stderr
