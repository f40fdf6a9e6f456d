"""Suggestions for an unknown key or platform."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.catalogue.edition import read_rows
from gpufleet.platforms.compiled import compile_data
from gpufleet.spec import meant
from tests.unit.contract.fleets import declaration, one


@pytest.mark.parametrize(
    ("platform", "fix"),
    [
        ("aks", "write `existing` for nodes that another tool has made"),
        ("oke", "write `existing` for nodes that another tool has made"),
        ("openstack", "write `existing` for nodes that another tool has made"),
        ("azure", "write `existing` for nodes that another tool has made"),
        ("gkee", "nearest: gke"),
        ("open-shift", "nearest: openshift"),
    ],
)
def test_another_platform_has_the_nodes_that_exist(platform: str, fix: str) -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4"})
    data["platform"] = platform
    found = one(compile_data(data), "spec-value-unknown")
    assert found.fix == fix
    known = "eks, gke, vsphere, openshift, openshiftAws, openshiftGcp, existing, sandbox"
    assert known in found.message


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("version", "kubernetesVersion"),
        ("kubernetes", "kubernetesVersion"),
        ("kubernetes_version", "kubernetesVersion"),
        ("regoin", "region"),
    ],
)
def test_a_word_of_a_key_is_near_to_it(key: str, near: str) -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4"})
    data["cluster"][key] = "1.36"
    assert one(compile_data(data), "spec-key-unknown").fix == f"nearest: {near}"


@pytest.mark.parametrize(
    "row",
    [
        row
        for row in read_rows(Path(meant.__file__).parent, "meant_words")
        if row["at"] in {"pools", "mig"}
        and ": " in row["write"]
        and "`" not in row["write"]
        and "..." not in row["write"]
    ],
    ids=lambda row: row["found"],
)
def test_what_is_written_in_place_of_another_tools_word_is_read(row: dict[str, str]) -> None:
    for written in map(yaml.safe_load, row["write"].split(" or ")):
        pool: dict[str, Any] = {"name": "chat", "gpu": "L4"}
        if row["at"] == "mig":
            pool |= {"gpu": "H100-80GB", "sharing": {"mig": written}}
        else:
            pool |= written
        found = compile_data(declaration("eks", pool)).findings
        forms = ("spec-key-", "spec-value-wrong-type", "spec-value-unknown")
        assert not [one for one in found if one.code.startswith(forms)], found


@pytest.mark.parametrize("written", ["auto-mode", "automode", "EKS Auto Mode"])
def test_auto_mode_is_near_to_its_name(written: str) -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4", "provisioner": written})
    assert one(compile_data(data), "spec-value-unknown").fix == "nearest: autoMode"


def test_a_slip_of_the_pen_is_not_taken_for_auto_mode() -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4", "provisioner": "karpentr"})
    assert one(compile_data(data), "spec-value-unknown").fix == "nearest: karpenter"


@pytest.mark.parametrize(
    ("pool", "path", "fix"),
    [
        ({"zones": "us-east-1a"}, "zones", "write a list: `zones: [us-east-1a]`"),
        ({"sharing": "time-slicing"}, "sharing", "write `sharing: {timeSlicing: {...}}`"),
        ({"sharing": {"kind": "mps"}}, "sharing.kind", "write `mps: {...}` in its place"),
        ({"sharing": {"replicas": 4}}, "sharing.replicas", "write it under `timeSlicing` or `mps`"),
        ({"labels": "a"}, "labels", "write a mapping: `labels: {NAME: VALUE}`"),
        ({"disk": "100"}, "disk", "write a mapping; its keys are sizeGib"),
        ({"gpusPerNode": "two"}, "gpusPerNode", "write a whole number"),
        ({"taints": {}}, "taints", "write a list: `taints: [{...}]`"),
    ],
)
def test_a_value_of_another_form_has_its_form_as_fix(
    pool: dict[str, object], path: str, fix: str
) -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4", **pool})
    (found,) = (one for one in compile_data(data).findings if one.path.endswith(f".{path}"))
    assert found.fix == fix


def test_all_keys_are_listed_only_where_none_is_near() -> None:
    data = declaration("eks", {"name": "chat", "gpu": "L4", "zone": ["a"], "colour": "blue"})
    texts = {one.path: one.message for one in compile_data(data).findings}
    assert texts["pools[0].zone"] == "`zone` is not a key here"
    assert "the keys are name, gpu, instanceTypes" in texts["pools[0].colour"]
