"""Mistakes of a first declaration: a unit, a comma, a zone, a name. Each fix has the correct text.

A reader of docs/use-cases.md wrote the first column; the page has the text of the fix.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data

BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
A100 = {"instanceTypes": ["p4de.24xlarge"]}


def declared(region: str = "us-east-1", **pool: Any) -> dict[str, Any]:
    fields = {"name": "chat", "nodes": {"min": 0, "max": 4}, **pool}
    machine = {} if "instanceTypes" in fields else {"gpu": "L40S"}
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": region},
        "pools": [{**machine, **fields}],
    }


def mps(**fields: Any) -> dict[str, Any]:
    return {"sharing": {"mps": {"replicas": 4, **fields}}}


def promised(longest: str) -> dict[str, Any]:
    return {"commitments": [{"team": "a", "gpus": 1, "longestJob": longest}]}


def bought(**fields: Any) -> dict[str, Any]:
    block = {**BLOCK, **fields}
    return {"instanceTypes": ["p5.48xlarge"], "capacity": [{"capacityBlock": block}]}


@pytest.mark.parametrize(
    ("pool", "path", "fix"),
    [
        (mps(pinnedMemoryMib="10Gi"), "pinnedMemoryMib", "write 10240: the unit is in the name"),
        (mps(pinnedMemoryMib="10240MiB"), "pinnedMemoryMib", "write 10240: the unit is in the"),
        ({"disk": {"sizeGib": "200GB"}}, "disk.sizeGib", "write 186: the unit is in the name"),
        (mps(pinnedMemoryMib=10), "pinnedMemoryMib", "write 10240 for 10 GiB"),
        (mps(activeThreadPercentage=0.25), "activeThreadPercentage", "in percent: 25"),
        ({"disk": {"sizeGib": "200Gi"}}, "disk.sizeGib", "write 200: the unit is in the name"),
        ({"nodes": {"min": 0, "max": "4 nodes"}}, "nodes.max", "write 4"),
        ({**A100, "sharing": {"mig": {"layout": "balanced"}}}, "layout", "write all-balanced"),
        (bought(usdPerHour="31,46"), "usdPerHour", "write 31.46"),
        (bought(id="cb-012"), "capacityBlock.id", "`cr-` and 17 hexadecimal digits"),
        (promised("2 days"), "longestJob", "write 2d"),
        ({"sharing": {"timeSlicing": None}}, "sharing", "such as `timeSlicing: {replicas: 4}`"),
        ({"sharing": {}}, "sharing", "such as `timeSlicing: {replicas: 4}`"),
        ({"capacity": [{"spot": {}, "onDemand": {}}]}, "capacity[0]", "[{spot: {}}, {onDemand:"),
        (promised("90min"), "longestJob", "write 90m"),
    ],
)
def test_the_fix_says_what_to_write(pool: Mapping[str, Any], path: str, fix: str) -> None:
    found = [one for one in compile_data(declared(**pool)).findings if path in one.path]
    assert any(fix in (one.fix or "") for one in found), found


@pytest.mark.parametrize(
    ("version", "written"), [("4.21", "1.34"), ("4.15", "1.28"), (1.35, "1.35"), (1.3, "1.30")]
)
def test_a_version_is_that_of_kubernetes_in_quotes(version: object, written: str) -> None:
    """OpenShift 4.21 has Kubernetes 1.34 (NVIDIA/cloud-native-docs `openshift/dra-gpu-ocp.rst`),
    4.15 has 1.28 (Red Hat, version of the Kubernetes API in each OpenShift release).
    """
    data = declared()
    data["cluster"]["kubernetesVersion"] = version
    (found,) = compile_data(data).findings
    assert f'"{written}"' in f"{found.message} {found.fix}"


def test_a_number_that_no_unit_explains_gets_no_invented_one() -> None:
    for value in ("two", "0.3Mi", "10 apples"):
        (found,) = compile_data(declared(**mps(pinnedMemoryMib=value))).findings
        assert found.fix == "write a whole number", value
    (found,) = compile_data(declared(**promised("2 months"))).findings
    assert found.fix is None, "two months are not two minutes"


@pytest.mark.parametrize(
    ("platform", "zone", "region"),
    [("eks", "us-east-1a", "us-east-1"), ("gke", "us-central1-a", "us-central1")],
)
def test_a_zone_in_place_of_a_region_is_named_as_one(platform: str, zone: str, region: str) -> None:
    data = {**declared(zone, gpu="L4"), "platform": platform}
    (found,) = [one for one in compile_data(data).findings if one.code == "region-unknown"]
    assert f"{zone!r} is a zone" in found.message
    assert f"write {region}, and name zones under `zones`" in (found.fix or "")


def test_a_commitment_to_a_team_that_no_queue_has_is_refused_with_the_nearest() -> None:
    data = declared(commitments=[{"team": "reserch", "gpus": 1}])
    assert "team-unknown" not in [one.code for one in compile_data(data).findings]
    data["queues"] = {"teams": [{"name": "research", "share": 0.5}]}
    (found,) = [one for one in compile_data(data).findings if one.code == "team-unknown"]
    assert found.path == "pools[0].commitments[0].team"
    assert found.fix == "write research or add it under queues.teams"


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("catalogue", 'write `catalogue: "2026.11"`'),
        ("platform", "write `platform:` with one of eks, gke, vsphere"),
        ("cluster", "write for example `cluster: {name: NAME, region: REGION}`"),
        (
            "pools",
            "write for example `pools: [{name: notebooks, gpu: L4, nodes: {min: 0, max: 4}}]`",
        ),
    ],
)
def test_a_missing_key_is_shown_with_a_value(path: str, fix: str) -> None:
    document = {key: value for key, value in declared().items() if key != path}
    (found,) = [one for one in compile_data(document).findings if one.path == path]
    assert found.code == "spec-key-missing"
    assert (found.fix or "").startswith(fix)
