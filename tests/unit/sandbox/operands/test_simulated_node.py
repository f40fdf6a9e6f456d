"""One node over time: operator, mig-manager, plugin and GFD together, without an API server."""

from dataclasses import replace
from typing import Any

import pytest

from gpufleet_sandbox.operands.cluster import ClusterView
from tests.unit.sandbox.operands.machine import A100, L4, MIG, STATE, Machine


def test_a_node_alone_has_only_what_a_kubelet_reports() -> None:
    machine = Machine(A100)
    machine.cluster = ClusterView(None, None, False)
    machine.settle()
    assert machine.resources == {"cpu": "96", "memory": "1152Gi", "pods": "110"}
    assert machine.labels == {}


def test_the_policy_alone_does_nothing_without_operator_or_node_feature_discovery() -> None:
    for missing in ({"operator_namespace": None}, {"feature_discovery": False}):
        machine = Machine(A100)
        machine.cluster = replace(machine.cluster, **missing)
        machine.settle()
        assert machine.gpus == {}
        assert "nvidia.com/gpu.present" not in machine.labels


def test_operator_labels_and_defaults() -> None:
    machine = Machine(A100)
    machine.settle()
    assert machine.labels[MIG] == "all-disabled"
    assert machine.labels[STATE] == "success"
    assert machine.labels["nvidia.com/gpu.deploy.driver"] == "pre-installed"
    assert machine.labels["nvidia.com/gpu.deploy.mig-manager"] == "true"
    assert machine.gpus == {"nvidia.com/gpu": 2}
    plain = Machine(L4)
    plain.settle()
    assert MIG not in plain.labels
    assert "nvidia.com/gpu.deploy.mig-manager" not in plain.labels


@pytest.mark.parametrize(
    ("hardware", "sections", "reason"),
    [
        ({"driver": None}, {"driver": {"enabled": False}}, "no NVIDIA driver"),
        ({"toolkit": False}, {"toolkit": {"enabled": False}}, "no container toolkit"),
    ],
)
def test_driver_and_toolkit_must_come_from_somewhere(
    hardware: dict[str, Any], sections: dict[str, Any], reason: str
) -> None:
    machine = Machine(L4, **hardware)
    machine.policy(**sections)
    machine.settle()
    assert machine.gpus == {}
    assert reason in machine.messages[-1]


def test_an_operator_driver_is_labelled_with_its_version() -> None:
    machine = Machine(L4, driver=None)
    machine.policy(driver={"version": "595.91.07"})
    machine.settle()
    assert machine.labels["nvidia.com/cuda.driver-version.full"] == "595.91.07"
    assert machine.labels["nvidia.com/gpu.deploy.driver"] == "true"


@pytest.mark.parametrize(
    "switch", ["nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.operands"]
)
def test_what_the_user_switched_off_stays_off(switch: str) -> None:
    machine = Machine(A100, {switch: "false", MIG: "all-1g.10gb"})
    machine.settle()
    assert machine.gpus == {}
    assert machine.labels[switch] == "false"


def test_nodes_for_virtual_machines_get_no_container_operands() -> None:
    machine = Machine(L4, {"nvidia.com/gpu.workload.config": "vm-passthrough"})
    machine.policy(sandboxWorkloads={"enabled": True})
    machine.settle()
    assert machine.gpus == {}
    other = Machine(L4, {"nvidia.com/gpu.workload.config": "vm-passthrough"})
    other.settle()
    assert other.gpus == {"nvidia.com/gpu": 1}


def test_without_the_plugin_gfd_still_describes_the_node() -> None:
    machine = Machine(L4)
    machine.policy(devicePlugin={"enabled": False})
    machine.settle()
    assert machine.gpus == {}
    assert machine.labels["nvidia.com/gpu.product"] == "NVIDIA-L4"


def test_removing_the_operator_removes_what_it_advertised() -> None:
    machine = Machine(A100, {MIG: "all-1g.10gb"})
    machine.settle()
    machine.cluster = ClusterView(None, None, False)
    machine.settle()
    assert machine.gpus == {}
    assert "nvidia.com/gpu.product" not in machine.labels


def test_unreadable_hardware_is_told_once() -> None:
    machine = Machine({"product": "NVIDIA Z1", "memoryMiB": 1, "count": 1})
    machine.look()
    assert machine.look().healthy is False
    assert len(machine.messages) == 1
    assert machine.resources == {}


def test_the_servers_own_spelling_of_a_quantity_is_no_change() -> None:
    machine = Machine(L4, memory="1179648Mi")
    machine.settle()
    machine.resources["memory"] = "1152Gi"
    assert machine.look().resources == {}
