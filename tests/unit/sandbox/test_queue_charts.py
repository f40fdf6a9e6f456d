"""Simulator charts of Kueue and KEDA, and the values that the components give the real ones."""

from typing import Any

import pytest

from gpufleet.catalogue import load as catalogue
from gpufleet.fleet.chart_values import leaves, merged
from gpufleet.render.keda_values import keda_values
from gpufleet.render.kueue_configuration import kueue_values
from tests.reading import yaml_data
from tests.unit.render.fleets import TEAMS, eks
from tests.unit.sandbox import simulator_chart
from tests.unit.sandbox.simulator_chart import CHARTS, load, violations

NAMES = ("kueue", "keda")
TEXT = "managerConfig.controllerManagerConfigYaml"


def problems(chart: str, values: dict[str, Any]) -> list[str]:
    return violations(chart, merged(load(CHARTS / chart / "values.yaml"), values))


def upstream(chart: str) -> dict[str, Any]:
    return simulator_chart.upstream(chart, catalogue().chart(chart).version)


@pytest.mark.parametrize("chart", NAMES)
def test_name_and_version_are_the_pins(chart: str) -> None:
    found = load(CHARTS / chart / "Chart.yaml")
    assert (found["name"], found["version"]) == (chart, catalogue().chart(chart).version)
    assert problems(chart, {}) == []


@pytest.mark.parametrize("chart", NAMES)
def test_keys_and_defaults_are_upstreams(chart: str) -> None:
    mine, theirs = dict(leaves(load(CHARTS / chart / "values.yaml"))), dict(leaves(upstream(chart)))
    for known in (mine, theirs):
        known.pop(TEXT, None)
    assert mine == theirs


def test_the_chart_takes_what_a_fleet_tells_kueue() -> None:
    values = kueue_values(eks(queues={"teams": TEAMS}, monitoring={"backend": "prometheus"}))
    assert problems("kueue", values) == []
    known = dict(leaves(upstream("kueue")))
    assert {key for key, _ in leaves(values)} <= set(known)


def test_our_configuration_covers_what_the_charts_own_says() -> None:
    """The chart's text is replaced as a whole, so nothing of it may be lost by accident."""
    theirs = yaml_data(upstream("kueue")["managerConfig"]["controllerManagerConfigYaml"])
    ours = yaml_data(
        kueue_values(eks(queues={"teams": TEAMS}))["managerConfig"]["controllerManagerConfigYaml"]
    )
    assert set(theirs) <= set(ours)
    for section in ("health", "webhook", "leaderElection", "controller", "clientConnection"):
        assert ours[section] == theirs[section]
    # Only kinds every cluster has; the others are `queues.frameworks`.
    assert set(ours["integrations"]["frameworks"]) <= set(theirs["integrations"]["frameworks"])


@pytest.mark.parametrize("watched", [True, False])
def test_the_chart_takes_what_keda_is_told(watched: bool) -> None:
    values = keda_values(watched=watched)
    assert problems("keda", values) == []
    known = dict(leaves(upstream("keda")))
    assert {key for key, _ in leaves(values)} <= set(known)


@pytest.mark.parametrize(
    ("chart", "values", "said"),
    [
        ("kueue", {"enablePrometeus": True}, "enablePrometeus"),
        ("kueue", {"controllerManager": {"replicas": "2"}}, "is not of type 'integer'"),
        ("keda", {"watchNamespaces": "a"}, "watchNamespaces"),
        ("keda", {"crds": {"install": "yes"}}, "is not of type 'boolean'"),
    ],
)
def test_others_are_refused(chart: str, values: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in problems(chart, values)), problems(chart, values)
