"""Simulator charts of Network Operator and device plugin: upstream's values, others refused."""

from typing import Any

import pytest

from gpufleet.fleet.chart_values import leaves, merged
from tests.unit.sandbox.simulator_chart import CHARTS, load, upstream, violations

VERSIONS = {"network-operator": "26.4.1", "nvidia-device-plugin": "0.20.0"}
SUB_CHARTS = ("sriov-network-operator.", "maintenance-operator-chart.")
"""Charts of upstream's Network Operator that are off by default and not simulated."""


def problems(chart: str, values: dict[str, Any]) -> list[str]:
    return violations(chart, merged(load(CHARTS / chart / "values.yaml"), values))


@pytest.mark.parametrize("chart", VERSIONS)
def test_name_and_version_are_upstreams(chart: str) -> None:
    found = load(CHARTS / chart / "Chart.yaml")
    assert (found["name"], found["version"]) == (chart, VERSIONS[chart])
    assert problems(chart, {}) == []


@pytest.mark.parametrize("chart", VERSIONS)
def test_defaults_are_upstreams(chart: str) -> None:
    theirs = upstream(chart, VERSIONS[chart])
    assert problems(chart, theirs) == []
    mine, yours = dict(leaves(load(CHARTS / chart / "values.yaml"))), dict(leaves(theirs))
    simulated = {key: value for key, value in yours.items() if not key.startswith(SUB_CHARTS)}
    assert mine == simulated


@pytest.mark.parametrize(
    ("chart", "values", "said"),
    [
        ("network-operator", {"nfd": {"enabld": True}}, "enabld"),
        ("network-operator", {"deployCR": True}, "deployCR"),
        ("network-operator", {"nfd": {"enabled": "true"}}, "is not of type 'boolean'"),
        ("nvidia-device-plugin", {"migStrategy": "both"}, "'both' is not one of"),
        ("nvidia-device-plugin", {"config": {"maps": {}}}, "maps"),
        ("nvidia-device-plugin", {"imagePullSecrets": ["a"]}, "is not of type 'object'"),
    ],
)
def test_others_are_refused(chart: str, values: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in problems(chart, values)), problems(chart, values)
