"""The device plugin's configurations on one node over time: chosen, shared, refused."""

from typing import Any

import pytest

from tests.unit.sandbox.operands.machine import A100, KEY, L4, MIG, Machine

TEXT = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}"


def sliced(default: str = "") -> Machine:
    machine = Machine(L4, {KEY: "four"})
    machine.policy(devicePlugin={"config": {"name": "plugin", "default": default}})
    machine.config_maps(plugin={"four": TEXT % 4, "eight": TEXT % 8, "mig": "flags: {}"})
    return machine


def test_the_config_is_chosen_by_label() -> None:
    machine = sliced()
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 4}
    machine.labels[KEY] = "eight"
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 8}
    assert machine.labels["nvidia.com/gpu.product"] == "NVIDIA-L4-SHARED"
    del machine.labels[KEY]
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 1}


def test_a_node_without_the_label_gets_the_default_key() -> None:
    machine = sliced(default="eight")
    del machine.labels[KEY]
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 8}


def test_a_key_that_does_not_exist_stops_the_plugin() -> None:
    machine = sliced()
    machine.settle()
    machine.labels[KEY] = "five"
    assert machine.settle().healthy is False
    assert machine.gpus == {}
    assert "nvidia.com/gpu.product" not in machine.labels
    assert "config five does not exist in ConfigMap plugin" in machine.messages[-1]


def test_a_running_plugin_keeps_its_config_and_a_failing_one_takes_the_repaired() -> None:
    machine = sliced()
    machine.settle()
    machine.config_maps(plugin={"four": TEXT % 2})
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 4}
    machine.config_maps(plugin={"five": TEXT % 5})
    machine.labels[KEY] = "five"
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 5}
    machine.config_maps(plugin={"five": TEXT % 5, "six": TEXT % 1})
    machine.labels[KEY] = "six"
    machine.settle()
    assert machine.gpus == {}
    machine.config_maps(plugin={"six": TEXT % 6})
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 6}


def test_the_operators_strategy_beats_the_files() -> None:
    machine = Machine(A100, {MIG: "all-1g.10gb", KEY: "own"})
    machine.config_maps(plugin={"own": "flags: {migStrategy: single}"})
    machine.policy(devicePlugin={"config": {"name": "plugin"}}, mig={"strategy": "mixed"})
    machine.settle()
    assert machine.gpus == {"nvidia.com/mig-1g.10gb": 14}
    machine.policy(devicePlugin={"config": {"name": "plugin"}}, mig={})
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 14}


def test_single_with_two_profiles_shows_as_invalid() -> None:
    machine = Machine(A100, {MIG: "all-balanced"})
    machine.policy(mig={"strategy": "single"})
    assert machine.settle().healthy is False
    assert machine.gpus == {}
    assert machine.labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB-MIG-INVALID"
    assert machine.annotations["sandbox.gpufleet.dev/device-plugin"].startswith(
        "failed: more than one MIG device type present on node"
    )


MPS = "sharing: {mps: {resources: [{name: gpu, replicas: %d}]}}"


@pytest.mark.parametrize(
    ("sections", "text", "reason"),
    [
        ({"mig": {"strategy": "mixed"}}, MPS % 4, "mixed is not supported with MPS"),
        ({"mig": {"strategy": "none"}}, MPS % 49, "maximum allowed replicas exceeded"),
        (
            {"mig": {"strategy": "none"}, "gfd": {"enabled": False}},
            MPS % 4,
            "waits for GFD's label nvidia.com/mps.capable",
        ),
    ],
)
def test_mps_failures_show_on_the_node(sections: dict[str, Any], text: str, reason: str) -> None:
    machine = Machine(L4, {KEY: "mps"})
    machine.policy(devicePlugin={"config": {"name": "plugin"}}, **sections)
    machine.config_maps(plugin={"mps": text})
    machine.settle()
    assert machine.gpus == {}
    assert reason in machine.messages[-1]


def test_mps_on_whole_gpus() -> None:
    machine = Machine(L4, {KEY: "mps"})
    machine.policy(devicePlugin={"config": {"name": "plugin"}}, mig={"strategy": "none"})
    machine.config_maps(plugin={"mps": MPS % 4})
    machine.settle()
    assert machine.gpus == {"nvidia.com/gpu": 4}
    assert machine.labels["nvidia.com/mps.capable"] == "true"
