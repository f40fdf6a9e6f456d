"""One node over time: operator, mig-manager, plugin and GFD together, without an API server."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpufleet.sandbox.operands.cluster import ClusterView, Decision, NodeView
from gpufleet.sandbox.operands.cluster_policy import read_cluster_policy
from gpufleet.sandbox.operands.hardware import HARDWARE_ANNOTATION
from gpufleet.sandbox.operands.simulated_node import SimulatedNode

A100 = {"product": "NVIDIA A100-SXM4-80GB", "memoryMiB": 81920, "count": 2}
L4 = {"product": "NVIDIA L4", "memoryMiB": 23034, "count": 1}
REQUIRED = (
    "operator daemonsets driver toolkit devicePlugin dcgm dcgmExporter gfd nodeStatusExporter"
)
MIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
KEY = "nvidia.com/device-plugin.config"


def policy_of(**sections: Any) -> Any:
    spec = {name: {} for name in REQUIRED.split()} | {"mig": {"strategy": "mixed"}} | sections
    return read_cluster_policy({"metadata": {"name": "cluster-policy"}, "spec": spec})


class Machine:
    """A node whose writes take effect, and a clock that is moved by hand."""

    def __init__(self, gpu: dict[str, object], labels: Mapping[str, str] | None = None, **hw: Any):
        data = {"gpus": [gpu], "cpu": "96", "memory": "1152Gi", "driver": "580.95.05", **hw}
        self.labels: dict[str, str] = dict(labels or {})
        self.annotations = {HARDWARE_ANNOTATION: json.dumps(data)}
        self.resources: dict[str, str] = {}
        self.cluster = ClusterView(policy_of(), "gpu-operator", True, {})
        self.operands = SimulatedNode(1.0)
        self.now = 0.0
        self.users: Sequence[str] = ()
        self.messages: list[str] = []
        self.states: list[str | None] = []

    def policy(self, **sections: Any) -> None:
        self.cluster = replace(self.cluster, policy=policy_of(**sections))

    def config_maps(self, **data: Mapping[str, str]) -> None:
        self.cluster = replace(self.cluster, config_maps=data)

    def look(self) -> Decision:
        view = NodeView(
            "n", "uid", self.labels, self.annotations, self.resources, dict(self.resources)
        )
        decision = self.operands.step(view, self.cluster, self.now, lambda: self.users)
        for kept, changes in (
            (self.labels, decision.labels),
            (self.annotations, decision.annotations),
            (self.resources, decision.resources),
        ):
            for key, value in changes.items():
                if value is None:
                    kept.pop(key, None)
                else:
                    kept[key] = value
        self.messages += [notice.message for notice in decision.notices]
        self.states.append(self.labels.get(STATE))
        return decision

    def settle(self) -> Decision:
        """Look until nothing is due and nothing changes."""
        for _ in range(20):
            decision = self.look()
            if decision.again_after is not None:
                self.now += decision.again_after
            elif not (decision.labels or decision.annotations or decision.resources):
                return decision
        raise AssertionError(f"the node does not come to rest: {self.messages}")

    @property
    def gpus(self) -> dict[str, int]:
        return {k: int(v) for k, v in self.resources.items() if k.startswith("nvidia.com/")}


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


def test_a_restart_in_the_middle_of_a_change_ends_the_same() -> None:
    machine = Machine(A100, {MIG: "all-3g.40gb"})
    machine.look()
    machine.operands = SimulatedNode(1.0)
    machine.settle()
    assert machine.labels[STATE] == "success"
    assert machine.labels["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert machine.gpus == {"nvidia.com/mig-3g.40gb": 4}


def test_the_servers_own_spelling_of_a_quantity_is_no_change() -> None:
    machine = Machine(L4, memory="1179648Mi")
    machine.settle()
    machine.resources["memory"] = "1152Gi"
    assert machine.look().resources == {}
