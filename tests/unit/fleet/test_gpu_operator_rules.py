"""Values of the GPU Operator, validated before anything is made."""

from typing import Any

import pytest

from gpufleet.findings import Finding, Severity
from gpufleet.platforms.compiled import compile_data

POOL: dict[str, Any] = {
    "name": "p",
    "gpu": "A100-80GB",
    "gpusPerNode": 4,
    "nodes": {"min": 1, "max": 2},
    "vsphere": {"cpus": 16, "memoryGib": 128, "template": "gpu-node"},
}


def found(operator: dict[str, Any], **addons: Any) -> dict[str, Finding]:
    data = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "c"},
        "pools": [POOL],
        "addons": {"gpuOperator": operator, **addons},
    }
    compiled = compile_data(data)
    return {f.code: f for f in compiled.findings if f.severity is not Severity.INFO}


@pytest.mark.parametrize(
    ("operator", "code", "path", "said"),
    [
        (
            {"values": {"gpuCluster": {"deployCR": True}}},
            "gpu-operator-two-stacks",
            "addons.gpuOperator.values.gpuCluster.deployCR",
            "are both true",
        ),
        (
            {"cdi": {"enabled": False, "nri": True}},
            "gpu-operator-nri-cdi",
            "addons.gpuOperator.cdi.nri",
            "CDI is disabled",
        ),
        (
            {
                "values": {
                    "sandboxWorkloads": {"enabled": True, "defaultWorkload": "vm-passthrough"}
                }
            },
            "pools-for-virtual-machines",
            "addons.gpuOperator.values.sandboxWorkloads.defaultWorkload",
            "pods there request nvidia.com/pgpu",
        ),
        (
            {"values": {"mig": {"strategy": "both"}}},
            "gpu-operator-choice-unknown",
            "addons.gpuOperator.values.mig.strategy",
            "'none', 'single', 'mixed'",
        ),
        (
            {"values": {"migManager": {"config": {"default": "all-balanced"}}}},
            "gpu-operator-choice-unknown",
            "addons.gpuOperator.values.migManager.config.default",
            "all-disabled",
        ),
        (
            {"values": {"driver": {"upgradePolicy": {"maxParallelUpgrades": -1}}}},
            "gpu-operator-number-negative",
            "addons.gpuOperator.values.driver.upgradePolicy.maxParallelUpgrades",
            "-1",
        ),
        (
            {"values": {"dcgmExporter": {"serviceMonitor": {"interval": "often"}}}},
            "gpu-operator-duration-invalid",
            "addons.gpuOperator.values.dcgmExporter.serviceMonitor.interval",
            "often",
        ),
        (
            {"values": {"devicePlugn": {"enabled": True}}},
            "config-key-misspelt",
            "addons.gpuOperator.values.devicePlugn",
            "what it declares does not happen",
        ),
        (
            {"driver": {"precompiled": True, "version": "595.91.07"}},
            "gpu-operator-precompiled-version",
            "addons.gpuOperator.driver.version",
            "595.91.07",
        ),
        (
            {"driver": {"precompiled": True, "version": "595"}, "gds": {"enabled": True}},
            "gds-without-its-module",
            "addons.gpuOperator.gds.enabled",
            "GPUDirect Storage",
        ),
        (
            {"values": {"migManager": {"config": {"name": "mine"}}}},
            "config-map-of-pools-replaced",
            "addons.gpuOperator.values.migManager.config.name",
            "written from the pools",
        ),
    ],
)
def test_what_would_fail_on_the_cluster_fails_here(
    operator: dict[str, Any], code: str, path: str, said: str
) -> None:
    findings = found(operator)
    assert code in findings, list(findings)
    finding = findings[code]
    assert finding.severity is Severity.ERROR
    assert finding.path == path
    assert said in finding.message + str(finding.fix)


def test_nearest_key_is_named() -> None:
    finding = found({"values": {"devicePlugn": {}}})["config-key-misspelt"]
    assert finding.fix == "write `devicePlugin`"


def test_an_unknown_key_of_another_chart_version_only_warns() -> None:
    values = {"values": {"devicePlugn": {}}}
    assert found(values)["config-key-misspelt"].severity is Severity.ERROR
    other = found({**values, "version": "v26.3.3"})["config-key-unknown"]
    assert other.severity is Severity.WARNING


def test_raw_values_that_say_something_else_name_both_places() -> None:
    operator = {
        "driver": {"kernelModuleType": "open"},
        "values": {"driver": {"kernelModuleType": "proprietary"}},
    }
    finding = found(operator)["raw-value-beats-typed"]
    assert finding.severity is Severity.WARNING
    assert "addons.gpuOperator.values.driver.kernelModuleType is proprietary" in finding.message
    assert "addons.gpuOperator.driver.kernelModuleType is open" in finding.message
    same = {**operator, "values": {"driver": {"kernelModuleType": "open"}}}
    assert "raw-value-beats-typed" not in found(same)
    # A default value is not a contradiction.
    unstated = {"values": {"driver": {"usePrecompiled": True, "version": "595"}}}
    assert "raw-value-beats-typed" not in found(unstated)


def test_typed_settings_without_fault_find_nothing() -> None:
    operator = {
        "driver": {
            "version": "595.91.07",
            "kernelModuleType": "open",
            "upgradePolicy": {"maxParallelUpgrades": 2, "drain": {"enabled": True}},
        },
        "gds": {"enabled": True},
        "dcgmExporter": {"serviceMonitor": {"interval": "30s"}},
        "imagePullSecret": "ngc",
    }
    images = {
        "registry": "registry.example.com/nvidia",
        "proxy": {"https": "http://p.example:3128"},
    }
    assert found(operator, images=images) == {}


def test_ofed_on_the_host_is_said_once() -> None:
    """`networkOperator.ofed: host` is what driver pods go by; nothing has to be repeated."""
    operator = {"driver": {"rdma": {"enabled": True}}}
    assert "driver-waits-for-ofed" in found(operator)
    assert found(operator, networkOperator={"ofed": "host"}) == {}
