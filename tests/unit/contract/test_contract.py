"""Advertisers, versions, MIG mode: rules over more than one layer."""

from typing import Any

import pytest

from gpufleet.findings import Severity
from tests.unit.contract.fleets import codes, facts, one, validated

L4: dict[str, Any] = {"name": "chat", "gpu": "L4"}
CUT: dict[str, Any] = {
    "name": "cut",
    "instanceTypes": ["p4d.24xlarge"],
    "sharing": {"mig": {"layouts": [{"devices": {"1g.5gb": 7}}]}},
}


def test_the_images_plugin_does_not_read_the_operators_configuration():
    # Its own settings share it (tests/unit/platforms/eks/test_bottlerocket.py), but for MPS.
    shared = {**L4, "image": "bottlerocket-nvidia", "sharing": {"mps": {"replicas": 4}}}
    found = one(validated("eks", shared), "image-plugin-shares-by-itself")
    assert found.path == "pools[0].sharing"
    assert codes(validated("eks", {**L4, "image": "bottlerocket-nvidia"})) == set()


def test_somebody_must_advertise():
    compiled = validated("eks", L4, gpuOperator={"enabled": False})
    assert codes(compiled, Severity.WARNING) == {"gpus-advertised-by-nobody"}
    existing = {"enabled": False, "ownership": "existing"}
    assert codes(validated("eks", L4, gpuOperator=existing), Severity.WARNING) == set()


def test_gkes_plugin_and_the_operators_are_two():
    values = {"values": {"devicePlugin": {"enabled": True}}}
    assert "two-advertisers" in codes(validated("gke", L4, gpuOperator=values))
    ours = {**L4, "gke": {"driver": "gpuOperator"}}
    assert codes(validated("gke", ours, gpuOperator=values)) == set()


def test_ampere_on_a_hypervisor_may_need_a_reboot():
    """GPU Operator documentation, MIG: on clouds the MIG manager gets WITH_REBOOT."""
    own = {"migManager": {"env": {"WITH_REBOOT": "false"}}}
    found = one(validated("eks", CUT, gpuOperator=own), "mig-mode-may-need-reboot")
    assert found.severity is Severity.WARNING
    assert len(facts(found)) == 3
    usual = validated("eks", CUT)
    assert codes(usual, Severity.WARNING) == set()
    assert usual.fleet is not None
    assert usual.fleet.addons.gpu_operator.mig_env == {"WITH_REBOOT": "true"}
    kept = {"migManager": {"env": {"DEBUG": "1"}}}
    both = validated("eks", CUT, gpuOperator=kept).fleet
    assert both is not None
    assert both.addons.gpu_operator.mig_env == {"WITH_REBOOT": "true", "DEBUG": "1"}
    hopper = {
        "name": "cut",
        "instanceTypes": ["p5.48xlarge"],
        "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
    }
    assert "mig-mode-may-need-reboot" not in codes(validated("eks", hopper), Severity.WARNING)


@pytest.mark.parametrize(("version", "warned"), [("1.36", False), ("1.31", True)])
def test_kubernetes_the_chart_is_not_documented_for(version: str, warned: bool):
    from gpufleet.platforms.compiled import compile_data
    from tests.unit.contract.fleets import declaration

    data = declaration("eks", L4)
    data["cluster"]["kubernetesVersion"] = version
    found = codes(compile_data(data), Severity.WARNING)
    assert ("kubernetes-not-documented-for-chart" in found) is warned


def test_the_mig_manager_stays_while_mig_is_being_switched_off():
    change = {
        "name": "cut",
        "gpu": "A100-80GB",
        "change": {"previous": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}},
    }
    fleet = validated("sandbox", change).fleet
    assert fleet is not None
    assert fleet.addons.gpu_operator.mig_manager
    assert fleet.addons.gpu_operator.mig_strategy == "mixed"
