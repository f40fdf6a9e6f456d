"""MIG layouts on one node over time: what mig-manager does, and what plugin and labels show."""

import pytest

from gpufleet_sandbox.operands.simulated_node import SimulatedNode
from tests.unit.sandbox.operands.machine import A100, MIG, STATE, Machine


def test_mig_default_empty_labels_nothing() -> None:
    machine = Machine(A100)
    machine.policy(migManager={"config": {"default": ""}})
    machine.settle()
    assert MIG not in machine.labels


def test_a_layout_declared_at_birth() -> None:
    machine = Machine(A100, {MIG: "all-1g.10gb"})
    first = machine.look()
    assert first.again_after == 1.0
    assert machine.labels[STATE] == "pending"
    assert machine.labels["nvidia.com/gpu.deploy.device-plugin"] == "paused-for-mig-change"
    assert machine.gpus == {}
    machine.settle()
    assert machine.labels[STATE] == "success"
    assert machine.labels["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert machine.gpus == {"nvidia.com/mig-1g.10gb": 14}


def test_a_change_empties_the_node_while_it_lasts() -> None:
    machine = Machine(A100, {MIG: "all-1g.10gb"})
    machine.settle()
    machine.labels[MIG] = "all-3g.40gb"
    machine.look()
    assert machine.gpus == {"nvidia.com/mig-1g.10gb": 0}
    assert "nvidia.com/mig-1g.10gb.count" in machine.labels
    machine.settle()
    assert machine.gpus == {"nvidia.com/mig-3g.40gb": 4}
    assert "nvidia.com/mig-1g.10gb.count" not in machine.labels
    assert [s for i, s in enumerate(machine.states) if s != machine.states[i - 1]] == [
        "pending",
        "success",
        "pending",
        "success",
    ]


def test_pods_on_the_node_make_a_change_fail_and_keep_the_layout() -> None:
    machine = Machine(A100, {MIG: "all-1g.10gb"})
    machine.settle()
    machine.users = ["team/notebook"]
    machine.labels[MIG] = "all-3g.40gb"
    machine.settle()
    assert machine.labels[STATE] == "failed"
    assert machine.gpus == {"nvidia.com/mig-1g.10gb": 14}
    assert "in use by another client: team/notebook" in machine.messages[-1]


def test_an_impossible_layout_leaves_the_node_without_the_resource() -> None:
    text = (
        "version: v1\nmig-configs: {bad: [{devices: all, mig-enabled: true, "
        "mig-devices: {1g.10gb: 3, 2g.20gb: 1, 3g.40gb: 1}}]}"
    )
    machine = Machine(A100, {MIG: "bad"})
    machine.policy(migManager={"config": {"name": "layouts"}})
    machine.config_maps(layouts={"config.yaml": text})
    machine.settle()
    assert machine.labels[STATE] == "failed"
    assert machine.gpus == {}
    assert any("all orderings failed" in message for message in machine.messages)


def layouts(name: str, devices: str) -> dict[str, str]:
    return {
        "config.yaml": f"version: v1\nmig-configs: {{{name}: "
        f"[{{devices: all, mig-enabled: true, mig-devices: {{{devices}}}}}]}}"
    }


def test_mig_manager_waits_for_its_configmap_and_ignores_edits_of_it() -> None:
    machine = Machine(A100, {MIG: "own"})
    machine.policy(migManager={"config": {"name": "layouts"}})
    assert machine.settle().healthy is False
    assert STATE not in machine.labels
    assert machine.messages == ["mig-manager waits for ConfigMap layouts"]
    machine.config_maps(layouts=layouts("own", "1g.10gb: 7"))
    machine.settle()
    assert machine.gpus == {"nvidia.com/mig-1g.10gb": 14}
    machine.config_maps(layouts=layouts("own", "3g.40gb: 2"))
    machine.settle()
    assert machine.gpus == {"nvidia.com/mig-1g.10gb": 14}
    machine.operands = SimulatedNode(1.0)
    machine.settle()
    assert machine.gpus == {"nvidia.com/mig-1g.10gb": 14}
    machine.policy(migManager={"config": {"name": "layouts"}, "env": [{"name": "A", "value": "b"}]})
    machine.settle()
    assert machine.gpus == {"nvidia.com/mig-3g.40gb": 4}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"config.yaml": "mig-configs: {}"}, "missing 'version'"),
        ({"layouts.yaml": ""}, "has no key config.yaml"),
        (layouts("other", "1g.10gb: 7"), "selected mig-config not present: own"),
    ],
)
def test_what_mig_manager_cannot_read_is_failed_and_stays_so(
    data: dict[str, str], reason: str
) -> None:
    machine = Machine(A100, {MIG: "own"})
    machine.policy(migManager={"config": {"name": "layouts"}})
    machine.config_maps(layouts=data)
    machine.settle()
    assert machine.labels[STATE] == "failed"
    assert reason in machine.messages[-1]
    machine.config_maps(layouts=layouts("own", "1g.10gb: 7"))
    machine.settle()
    assert machine.labels[STATE] == "failed"


def test_ampere_on_a_machine_that_cannot_reset_reboots_when_allowed() -> None:
    machine = Machine(A100, {MIG: "all-1g.10gb"}, gpuReset=False)
    machine.settle()
    assert machine.labels[STATE] == "failed"
    assert "not permitted on this machine" in machine.messages[-1]
    rebooting = Machine(A100, {MIG: "all-1g.10gb"}, gpuReset=False)
    rebooting.policy(migManager={"env": [{"name": "WITH_REBOOT", "value": "true"}]})
    rebooting.settle()
    assert rebooting.labels[STATE] == "success"
    changes = [s for i, s in enumerate(rebooting.states) if s != rebooting.states[i - 1]]
    assert changes == ["pending", "rebooting", "pending", "success"]
    assert rebooting.gpus == {"nvidia.com/mig-1g.10gb": 14}


def test_mig_manager_off_leaves_the_label_unanswered() -> None:
    machine = Machine(A100, {MIG: "all-1g.10gb"})
    machine.policy(migManager={"enabled": False})
    machine.settle()
    assert STATE not in machine.labels
    assert machine.gpus == {"nvidia.com/gpu": 2}


def test_a_restart_in_the_middle_of_a_change_ends_the_same() -> None:
    machine = Machine(A100, {MIG: "all-3g.40gb"})
    machine.look()
    machine.operands = SimulatedNode(1.0)
    machine.settle()
    assert machine.labels[STATE] == "success"
    assert machine.labels["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert machine.gpus == {"nvidia.com/mig-3g.40gb": 4}
