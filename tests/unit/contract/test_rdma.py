"""The way from NIC to GPU memory, and who must be there first."""

from typing import Any

import pytest

from gpufleet.contract.programs import network_operator_values
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.findings import Severity
from tests.unit.contract.fleets import codes, one, validated
from tests.unit.contract.test_public_reports import L4, PEERMEM, RDMA


def driver(**values: Any) -> dict[str, Any]:
    return {"values": {"driver": values}}


PRECOMPILED = {"usePrecompiled": True, "version": "595"}


@pytest.mark.parametrize(
    ("operator", "network", "code"),
    [
        (driver(rdma={"enabled": True, "useHostMofed": True}), {}, "ofed-on-no-host"),
        (
            driver(rdma={"enabled": True, "useHostMofed": True}),
            {"ofed": "operator"},
            "ofed-from-two-places",
        ),
        (driver(rdma={"enabled": True, "useHostMofed": True}), {"ofed": "host"}, None),
        (driver(rdma={"enabled": True}), {"ofed": "host"}, "driver-waits-for-ofed"),
        (driver(rdma={"enabled": True}), {"ofed": "operator"}, None),
        (driver(kernelModuleType="proprietary"), {}, "rdma-without-a-path"),
        (driver(kernelModuleType="open"), {}, None),
        ({}, {"enabled": False}, "rdma-without-network-operator"),
        ({"values": {"gds": {"enabled": True}}}, {}, None),
        (
            {"values": {"gds": {"enabled": True}, "driver": PRECOMPILED}},
            {},
            "gds-without-its-module",
        ),
        (
            {"values": {"gdrcopy": {"enabled": True}, "driver": PRECOMPILED}},
            {},
            "gdrcopy-without-its-module",
        ),
    ],
)
def test_one_path_and_in_order(operator: Any, network: Any, code: str | None) -> None:
    compiled = validated("vsphere", RDMA, gpuOperator=operator, networkOperator=network)
    assert codes(compiled) == ({code} if code else set())


def test_an_old_gpu_has_no_dma_buf() -> None:
    old = {**RDMA, "gpu": "V100-32GB"}
    found = one(validated("vsphere", old), "rdma-without-a-path")
    assert "nvidia-peermem is off" in found.message
    assert found.fix == (
        "set addons.gpuOperator.driver.rdma.enabled: true and addons.networkOperator.ofed: operator"
    )


def test_peermem_needs_the_operators_driver_pod() -> None:
    compiled = validated(
        "eks", L4, gpuOperator={"values": PEERMEM}, networkOperator={"enabled": True}
    )
    assert "peermem-without-driver-container" in codes(compiled, Severity.WARNING)
    assert codes(compiled) == set()


def test_node_feature_discovery_runs_once_and_first() -> None:
    together = validated("vsphere", RDMA)
    assert together.fleet is not None
    assert not together.fleet.addons.gpu_operator.node_feature_discovery
    twice = validated("vsphere", RDMA, gpuOperator={"nodeFeatureDiscovery": {"enabled": True}})
    assert codes(twice) == {"node-feature-discovery-twice"}
    off_there = {"values": {"nfd": {"enabled": False}}}
    ours = validated("vsphere", RDMA, networkOperator=off_there)
    assert ours.fleet is not None
    assert ours.fleet.addons.gpu_operator.node_feature_discovery
    alone = validated("eks", L4, gpuOperator={"nodeFeatureDiscovery": {"enabled": False}})
    assert "node-feature-discovery-not-installed" in codes(alone, Severity.WARNING)


def test_what_is_missing_is_called_missing_and_has_a_fix() -> None:
    report = CheckReport(network_operator_values.RDMA.RULES)
    network_operator_values.RDMA.validate_data({"configList": [{}, 3]}, "", report)
    found = report.validation(network_operator_values.AdvertisedByConfig({}, {})).findings
    assert "configList[0].rdmaHcaMax is required" in {f.message for f in found}
    assert "configList[0].resourceName is required" in {f.message for f in found}
    assert all(f.fix for f in found)
