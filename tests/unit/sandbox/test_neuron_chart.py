"""Simulator chart of AWS Neuron, and the values that fleets give the real one."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpufleet.catalogue import load
from gpufleet.fleet.chart_values import leaves, merged
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.neuron_values import CHART as NAME
from gpufleet.render.neuron_values import neuron_release_values, neuron_values
from tests.reading import yaml_data

ROOT = Path(__file__).parents[3]
CHART = ROOT / "sandbox/gpufleet_sandbox/charts" / NAME
UPSTREAM = ROOT.parent / "shared/reference/charts"
SHORTENED = (
    "devicePlugin.env",
    "devicePlugin.affinity",
    "devicePlugin.volume",
    "scheduler.env",
    "scheduler.customScheduler.",
    "scheduler.defaultScheduler.",
    "npd.config.kernelMonitor",
    "npd.tolerations",
    "npd.nodeProblemDetector.resources",
    "npd.nodeRecovery.",
)
"""Values whose defaults are long and change nothing in the sandbox."""


def problems(values: dict[str, Any]) -> list[str]:
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    whole = merged(yaml_data((CHART / "values.yaml").read_text()), values)
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(whole)]


def told() -> list[dict[str, Any]]:
    """Values of a fleet, and of the component with all inputs."""
    fleet = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [
                {"name": "p", "instanceTypes": ["trn1.2xlarge"], "nodes": {"min": 0, "max": 1}}
            ],
            "addons": {"neuronDevicePlugin": {"nodeRecovery": True}},
        }
    ).fleet
    assert fleet is not None
    everything = neuron_values(
        scheduler=True,
        node_problem_detector=True,
        node_recovery=True,
        tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
        instance_types=["trn2.48xlarge"],
    )
    return [neuron_release_values(fleet), everything]


def test_name_and_version_are_the_pins() -> None:
    found = yaml_data((CHART / "Chart.yaml").read_text())
    assert (found["name"], found["version"]) == (NAME, load().chart(NAME).version)
    assert problems({}) == []


def test_the_chart_takes_what_we_tell_it() -> None:
    known = dict(leaves(yaml_data((CHART / "values.yaml").read_text())))
    for values in told():
        assert problems(values) == []
        assert {key for key, _ in leaves(values)} <= set(known)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"devicePlugin": {"toleration": []}}, "toleration"),
        ({"npd": {"enabled": "yes"}}, "is not of type 'boolean'"),
        ({"schedular": {}}, "schedular"),
        ({"draDriver": {"enabled": True}}, "draDriver"),
    ],
)
def test_what_the_chart_would_ignore_is_refused(values: dict[str, Any], said: str) -> None:
    assert said in "\n".join(problems(values))


def test_keys_and_defaults_are_upstreams() -> None:
    path = UPSTREAM / f"{NAME}-{load().chart(NAME).version}.values.yaml"
    if not path.is_file():
        pytest.skip(f"upstream's values are not next to the checkout ({path})")
    theirs = yaml_data(path.read_text())
    assert problems(theirs) == []
    for values in told():
        assert {key for key, _ in leaves(values)} <= {key for key, _ in leaves(theirs)}
    mine, yours = (
        {key: value for key, value in leaves(values) if not key.startswith(SHORTENED)}
        for values in (yaml_data((CHART / "values.yaml").read_text()), theirs)
    )
    assert mine == yours
