"""The simulated Neuron device plugin with the rendered values of a fleet."""

import json
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.fleet import Fleet
from gpufleet.fleet.chart_values import merged
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.sandbox.simulated_node import simulated_nodes
from gpufleet.render.neuron_values import neuron_release_values
from gpufleet_sandbox.operands.cluster import ClusterView, NodeView
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, HardwareError, read_hardware
from gpufleet_sandbox.operands.neuron import (
    CHART_NAME,
    COMPONENT,
    COMPONENT_LABEL,
    CORES,
    NAME_LABEL,
    read_neuron_plugin,
)
from gpufleet_sandbox.operands.simulated_node import SimulatedNode
from tests.reading import yaml_data
from tests.unit.sandbox.test_neuron_chart import CHART

DEVICE, CORE = "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"


def fleet(*taints: dict[str, str], **pool: Any) -> Fleet:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "c"},
            "pools": [
                {
                    "name": "p",
                    "instanceTypes": ["inf2.24xlarge"],
                    "nodes": {"min": 1, "max": 1},
                    "taints": list(taints),
                    **pool,
                }
            ],
        }
    )
    assert result.fleet is not None, result.findings
    return result.fleet


def cluster(values: dict[str, Any]) -> ClusterView:
    """ConfigMap of the simulator chart, as the operands read it."""
    whole = merged(yaml_data((CHART / "values.yaml").read_text()), values)
    labels = {NAME_LABEL: CHART_NAME, COMPONENT_LABEL: COMPONENT}
    written = {"metadata": {"labels": labels}, "data": {"values.json": json.dumps(whole)}}
    plugin = read_neuron_plugin({("kube-system", "neuron-simulated"): written})
    return ClusterView(None, None, False, neuron=plugin)


def node(made: Fleet, capacity: dict[str, str] | None = None) -> NodeView:
    (one,) = simulated_nodes(made.pools[0], load(), prefix="c", region="sandbox")
    there = capacity or {}
    return NodeView(
        one.name,
        "uid",
        one.metadata["labels"],
        one.metadata["annotations"],
        there,
        there,
        tuple(one.spec["taints"]),
    )


def advertised(made: Fleet, seen: ClusterView) -> dict[str, str | None]:
    decision = SimulatedNode(0).step(node(made), seen, 0, lambda: ())
    assert decision.healthy
    return {k: v for k, v in decision.resources.items() if "/" in k}


@pytest.mark.parametrize("unit", ["device", "core"])
def test_devices_and_cores_are_published_whatever_the_pool_hands_out(unit: str) -> None:
    made = fleet({"key": "example.com/team", "value": "a"}, neuron={"unit": unit})
    found = advertised(made, cluster(neuron_release_values(made)))
    assert found == {DEVICE: "6", CORE: "12"}
    ((resource, amount),) = made.pools[0].advertised.items()
    assert found[resource] == str(amount)


def test_every_chip_has_the_cores_of_the_catalogue() -> None:
    known = {gpu.key: gpu.cores for gpu in load().gpus.values() if gpu.vendor == "aws"}
    assert known == CORES


def test_the_plugin_stays_away_where_it_is_not_told_to_run() -> None:
    made = fleet({"key": "example.com/team", "value": "a"})
    values = neuron_release_values(made)
    values["devicePlugin"] = {"tolerations": values["devicePlugin"]["tolerations"][:-1]}
    assert advertised(made, cluster(values)) == {}
    assert advertised(made, cluster({"neuronInstances": ["trn1.2xlarge"]})) == {}
    assert advertised(made, ClusterView(None, None, False)) == {}


def test_what_is_gone_is_taken_back() -> None:
    view = node(fleet(), {DEVICE: "6", CORE: "12", "cpu": "96"})
    decision = SimulatedNode(0).step(view, ClusterView(None, None, False), 0, lambda: ())
    assert (decision.resources[DEVICE], decision.resources[CORE]) == (None, None)


@pytest.mark.parametrize(
    ("neuron", "said"),
    [
        ({"chip": "Inferentia2"}, "chip and count only"),
        ({"chip": "TPU", "count": 1}, "neuron.chip must be one of Inferentia"),
        ({"chip": "Trainium", "count": 0}, "whole number above 0"),
        ([], "chip and count only"),
    ],
)
def test_hardware_that_cannot_be_is_refused(neuron: Any, said: str) -> None:
    data = {"neuron": neuron, "cpu": "4", "memory": "16Gi"}
    with pytest.raises(HardwareError, match=said):
        read_hardware({HARDWARE_ANNOTATION: json.dumps(data)})
