"""The DRA driver as its chart configures it: gates that crash it, nodes it runs on."""

import json
from typing import Any

import pytest

from gpufleet_sandbox.operands.dra_driver import SimulatedDraDriver, read_dra_driver
from tests.reading import yaml_data
from tests.unit.sandbox.test_dra_chart import CHART

LABELS = {
    "app.kubernetes.io/name": "dra-driver-nvidia-gpu",
    "app.kubernetes.io/component": "simulated-kubelet-plugin",
}
GPU_NODE = {"feature.node.kubernetes.io/pci-10de.present": "true"}


def installed(**changes: Any) -> SimulatedDraDriver | None:
    values = yaml_data((CHART / "values.yaml").read_text()) | changes
    item = {"metadata": {"labels": LABELS}, "data": {"values.json": json.dumps(values)}}
    other = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": ""}}
    return read_dra_driver([other, item])


def running(**changes: Any) -> SimulatedDraDriver:
    driver = installed(**changes)
    assert driver is not None
    return driver


def test_defaults() -> None:
    driver = running()
    assert driver.crash is None
    assert driver.driver_root == "/"
    assert [name for name, on in driver.gates.items() if on and name != "ContextualLogging"] == [
        "IMEXDaemonsWithDNSNames",
        "ComputeDomainCliques",
        "CrashOnNVLinkFabricErrors",
        "LoggingBetaOptions",
    ]


def test_not_installed_or_serving_no_gpus() -> None:
    assert read_dra_driver([]) is None
    assert installed(resources={"gpus": {"enabled": False}}) is None


def test_values_nobody_can_read() -> None:
    item = {"metadata": {"labels": LABELS}, "data": {"values.json": "{"}}
    driver = read_dra_driver([item])
    assert driver is not None
    assert "values cannot be read" in (driver.crash or "")


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        ({"DynamicMIG": True, "MPSSupport": True}, "mutually exclusive"),
        ({"DynamicMIG": True, "PassthroughSupport": True}, "mutually exclusive"),
        ({"DynamicMIG": True, "NVMLDeviceHealthCheck": True}, "mutually exclusive"),
        ({"PassthroughSupport": True, "NVMLDeviceHealthCheck": True}, "mutually exclusive"),
        ({"DeviceMetadata": True}, "requires PassthroughSupport"),
        ({"IMEXDaemonsWithDNSNames": False}, "requires IMEXDaemonsWithDNSNames"),
        ({"DynamicMig": True}, "unrecognized feature gate: DynamicMig"),
    ],
)
def test_gates_that_crash_it(gates: dict[str, bool], words: str) -> None:
    """DRA-11, DRA-14: the chart renders them all."""
    assert words in (running(featureGates=gates).crash or "")


@pytest.mark.parametrize(
    "gates",
    [
        {"DynamicMIG": True, "TimeSlicingSettings": True},
        {"MPSSupport": True, "TimeSlicingSettings": True},
        {"DeviceMetadata": True, "PassthroughSupport": True},
        {"IMEXDaemonsWithDNSNames": False, "ComputeDomainCliques": False},
    ],
)
def test_gates_that_go_together(gates: dict[str, bool]) -> None:
    assert running(featureGates=gates).crash is None


def test_nodes_it_runs_on() -> None:
    assert running().runs_on(GPU_NODE)
    assert running().runs_on({"nvidia.com/gpu.present": "true"})
    assert not running().runs_on({})
    plugin = {"nodeSelector": {"pool": "a"}}
    assert running(kubeletPlugin=plugin).runs_on({"pool": "a"})
    assert not running(kubeletPlugin=plugin).runs_on({"pool": "b"})


@pytest.mark.parametrize(
    ("taint", "kept_away"),
    [
        ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, None),
        ({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}, None),
        ({"key": "team", "value": "a", "effect": "PreferNoSchedule"}, None),
        ({"key": "team", "value": "a", "effect": "NoSchedule"}, "team=a:NoSchedule"),
        ({"key": "nvidia.com/gpu", "effect": "NoExecute"}, "nvidia.com/gpu:NoExecute"),
    ],
)
def test_taints(taint: dict[str, str], kept_away: str | None) -> None:
    assert running().untolerated([taint]) == kept_away


def test_a_toleration_with_a_value() -> None:
    bears = {"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    driver = running(kubeletPlugin={"tolerations": [bears]})
    assert driver.untolerated([{"key": "team", "value": "a", "effect": "NoSchedule"}]) is None
    assert driver.untolerated([{"key": "team", "value": "b", "effect": "NoSchedule"}]) is not None
