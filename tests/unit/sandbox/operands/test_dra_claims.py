"""Configurations of claims, by rule: what the driver prepares and what it refuses."""

from typing import Any

import pytest

from gpufleet_sandbox.operands.dra_claims import ClaimError, allocated_on, check_claim

API = "resource.nvidia.com/v1beta1"
ALL = {"TimeSlicingSettings": True, "MPSSupport": True}
NONE = {"TimeSlicingSettings": False, "MPSSupport": False}


def gpu_config(**sharing: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "GpuConfig", "sharing": sharing}


def mig_config(**sharing: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "MigDeviceConfig", "sharing": sharing}


def claim(parameters: Any, device: str = "gpu-0", driver: str = "gpu.nvidia.com") -> dict[str, Any]:
    result = {"driver": "gpu.nvidia.com", "pool": "n", "device": device, "request": "gpu"}
    config = [{"opaque": {"driver": driver, "parameters": parameters}, "requests": ["gpu"]}]
    return {"status": {"allocation": {"devices": {"results": [result], "config": config}}}}


@pytest.mark.parametrize(
    "parameters",
    [
        {"apiVersion": API, "kind": "GpuConfig"},
        gpu_config(strategy="TimeSlicing"),
        gpu_config(strategy="TimeSlicing", timeSlicingConfig={"interval": "Medium"}),
        gpu_config(strategy="MPS", mpsConfig={"defaultActiveThreadPercentage": 0}),
        gpu_config(strategy="MPS", mpsConfig={"defaultPinnedDeviceMemoryLimit": "2Gi"}),
    ],
    ids=str,
)
def test_what_is_prepared(parameters: Any) -> None:
    check_claim(claim(parameters), "n", ALL)


@pytest.mark.parametrize(
    ("rule", "parameters", "gates", "words"),
    [
        ("DRA-1", gpu_config(strategy="TimeSlicing"), NONE, "sharing strategy"),
        ("DRA-1", gpu_config(strategy="MPS"), NONE, "sharing strategy"),
        ("DRA-2", gpu_config(strategy="Slices"), ALL, 'strategy: "Slices"'),
        (
            "DRA-2",
            gpu_config(strategy="TimeSlicing", timeSlicingConfig={"interval": "long"}),
            ALL,
            'time-slice: "long"',
        ),
        ("DRA-3", gpu_config(strategy="TimeSlicing", timeSlicingConfig={}), ALL, "nil pointer"),
        (
            "DRA-4",
            gpu_config(strategy="MPS", mpsConfig={"defaultActiveThreadPercentage": 101}),
            ALL,
            "101",
        ),
        (
            "DRA-5",
            gpu_config(strategy="MPS", mpsConfig={"defaultPinnedDeviceMemoryLimit": "1M"}),
            ALL,
            "too low",
        ),
        ("DRA-6", gpu_config(strategy="TimeSlicing", mpsConfig={}), ALL, "cannot use MpsConfig"),
        (
            "DRA-6",
            gpu_config(strategy="MPS", timeSlicingConfig={"interval": "Long"}),
            ALL,
            "cannot use TimeSlicingConfig",
        ),
        ("DRA-7", gpu_config(strategy="MPS", mpsConfig={"multiUser": True}), ALL, "multiUser"),
        ("DRA-7", {**gpu_config(strategy="MPS"), "shering": {}}, ALL, "shering"),
        (
            "DRA-8",
            {"apiVersion": "gpu.nvidia.com/v1alpha1", "kind": "GpuConfig"},
            ALL,
            "no kind",
        ),
        ("type", mig_config(strategy="TimeSlicing"), ALL, "of another type"),
        ("shape", "text", ALL, "no object"),
    ],
)
def test_what_is_refused(rule: str, parameters: Any, gates: Any, words: str) -> None:
    with pytest.raises(ClaimError) as caught:
        check_claim(claim(parameters), "n", gates)
    assert words in str(caught.value), rule


def test_mig_devices_have_no_interval() -> None:
    device = "gpu-0-mig-1g10gb-19-0"
    check_claim(claim(mig_config(strategy="TimeSlicing"), device), "n", ALL)
    with_interval = mig_config(strategy="TimeSlicing", timeSlicingConfig={"interval": "Long"})
    with pytest.raises(ClaimError, match="timeSlicingConfig"):
        check_claim(claim(with_interval, device), "n", ALL)


def test_other_drivers_configs_are_not_ours() -> None:
    check_claim(claim({"kind": "Anything"}, driver="other.example.com"), "n", NONE)


def test_devices_on_the_node() -> None:
    assert allocated_on(claim({}), "n") == ["gpu-0"]
    assert allocated_on(claim({}), "elsewhere") == []
    assert allocated_on({}, "n") == []
