"""The engine's view of the providers before any request to vCenter."""

import re
from pathlib import Path
from typing import Any

import pytest
from pulumi.dynamic import CheckResult
from pulumi.runtime.proto import provider_pb2

import gpufleet_vcenter
from gpufleet.components_base.resource_plugin import DetailedDiff
from gpufleet_vcenter.group_provider import VsphereGpuNodeGroupProvider
from gpufleet_vcenter.outputs import inputs_kept
from gpufleet_vcenter.properties import UNKNOWN
from gpufleet_vcenter.settings import normalised

PROVIDER = VsphereGpuNodeGroupProvider()
KINDS = provider_pb2.PropertyDiff
SOURCES = Path(gpufleet_vcenter.__file__).parent
NODE: dict[str, Any] = {
    "owner": "o/p/s/g/0",
    "generation": "0123456789ab",
    "endpoint": {"server": "vc.example.com", "port": 443.0},
    "place": {"datacenter": "DC", "cluster": "C", "template": "t", "folder": None},
    "name": "gpu-0",
    "cpus": 8.0,
    "memoryMib": 65_536.0,
    "gpu": {"mode": "dynamic", "deviceIds": ["20b5"], "count": 1.0},
    "gpuMemoryGib": 80.0,
    "userData": "#cloud-config\n# a token\n",
    "tags": [{"category": "c", "name": "n"}],
}


def test_no_whole_trees_are_read() -> None:
    """`vm.runtime` and `vm.summary` hold values that pyVmomi refuses, and cost time."""
    whole = re.compile(r"\"(config|runtime|summary|guest|hardware|info)\"\s*[,)\]]")
    read = re.compile(r"live\.reference\.(config|runtime|summary|guest)\b")
    for file in SOURCES.glob("*.py"):
        text = file.read_text()
        assert not whole.search(text), file.name
        assert not read.search(text), file.name


def group(node: dict[str, Any]) -> dict[str, Any]:
    """Inputs of a group with this machine; without a request to vCenter."""
    secret = {"userData": node["userData"]} if "userData" in node else {}
    return {
        "group": "o/p/s/g",
        "life": "0123456789ab",
        "names": "gpu-",
        "order": ["0"],
        "width": 16.0,
        "rolloutWidth": 4.0,
        "preflight": "create",
        "nodes": {"0": {key: value for key, value in node.items() if key != "userData"}},
        "boot": {"0": secret},
    }


def check(olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
    return PROVIDER.check(group(olds) if olds else {}, group(news))


def failures(olds: dict[str, Any], news: dict[str, Any]) -> list[tuple[str, str]]:
    found = check(olds, news).failures
    return [(row.property.removeprefix("nodes.0."), row.reason) for row in found]


def test_inputs_as_the_engine_sends_them_are_fine() -> None:
    """Numbers are floats, and what is absent may be null."""
    assert failures({}, NODE) == []
    assert normalised(NODE)["cpus"] == 8
    assert isinstance(normalised(NODE)["gpu"]["count"], int)
    assert "folder" not in normalised(NODE)["place"]


@pytest.mark.parametrize("key", ["cpus", "userData", "generation", "place", "gpu"])
def test_what_is_not_known_yet_is_not_judged(key: str) -> None:
    assert failures({}, {**NODE, key: UNKNOWN}) == []
    assert failures(NODE, {**NODE, key: UNKNOWN}) == []


def test_a_persons_mistake_names_its_property_and_no_secret() -> None:
    wrong = {**NODE, "cpus": 0.0, "name": "GPU", "place": {"datacenter": "DC"}}
    found = failures({}, wrong)
    assert {path for path, _ in found} == {"place.cluster", "place.template", "name", "cpus"}
    assert "a token" not in str(found)
    assert "Traceback" not in str(found)


def test_changes_that_would_fail_later_are_told_first() -> None:
    ((_, reason),) = failures(NODE, {**NODE, "cpus": 16.0})
    assert reason.startswith(
        "gpu-0: cpus: 8 becomes 16 only while the machine is off, and updatePolicy is refuse"
    )
    ((_, ends),) = failures(NODE, {**NODE, "cpus": 16.0, "name": "other"})
    assert ends.startswith(
        "other: name: 'gpu-0' cannot become 'other' without another machine: write "
        "`updatePolicy: replace`"
    )
    replaced = {**NODE, "cpus": 16.0, "name": "other", "updatePolicy": "replace"}
    assert failures(NODE, replaced) == []


def test_ignored_first_boot_data_leaves_the_generation() -> None:
    news = {
        **NODE,
        "generation": "ba9876543210",
        "userData": "other",
        "ignoreUserDataChanges": True,
        "updatePolicy": "replace",
    }
    assert check(NODE, news).inputs["generations"]["0"] == NODE["generation"]
    renamed = {**news, "name": "other"}
    assert check(NODE, renamed).inputs["generations"]["0"] == "ba9876543210"


def test_a_diff_names_each_machine_by_its_key() -> None:
    kept = {**inputs_kept(normalised(NODE)), "instanceUuid": "u"}
    assert "a token" not in str(kept)
    state = {**group(NODE), "nodes": {"0": kept}}
    same = PROVIDER.diff("id", state, group(NODE))
    assert same.changes is False
    other = PROVIDER.diff("id", state, group({**NODE, "annotation": "x"}))
    assert isinstance(other, DetailedDiff)
    assert (list(other.rows), other.replaces) == (["nodes.0.annotation"], [])
    assert other.rows["nodes.0.annotation"] == KINDS.UPDATE
    more = group(NODE)
    more = {**more, "order": ["1"], "nodes": {"1": {**more["nodes"]["0"], "owner": "o/p/s/g/1"}}}
    grown = PROVIDER.diff("id", state, more)
    assert isinstance(grown, DetailedDiff)
    assert grown.rows == {"nodes.1": KINDS.ADD, "nodes.0": KINDS.DELETE}
