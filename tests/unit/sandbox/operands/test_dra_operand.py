"""The DRA driver on nodes over time, against an API of plain dictionaries."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gpufleet_sandbox.operands.api import ApiError
from gpufleet_sandbox.operands.cluster import ClusterView
from gpufleet_sandbox.operands.dra_driver import SimulatedDraDriver
from gpufleet_sandbox.operands.dra_operand import CLAIMS, DRA_ANNOTATION, SLICES, DraOperand
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION
from gpufleet_sandbox.operands.views import node_view
from tests.unit.sandbox.operands.machine import Machine, policy_of

HOPPER = {"product": "NVIDIA H100 80GB HBM3", "memoryMiB": 81559, "count": 1}
GATES = {"DynamicMIG": False, "TimeSlicingSettings": False, "MPSSupport": False}
DRIVER = SimulatedDraDriver(GATES, "/", {"pool": "a"}, (), (), None)


class FakeApi:
    """Objects of the server."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.events: list[str] = []
        self.version = 0

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("/events"):
            self.events.append(f"{body['involvedObject']['name']}: {body['message']}")
            return body
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.objects[f"{path}/{body['metadata']['name']}"] = body
        return body

    def delete(self, path: str) -> None:
        if path not in self.objects:
            raise ApiError(404, "not found")
        del self.objects[path]

    def get(self, path: str) -> dict[str, Any]:
        wanted = path.partition("?")[0]
        items = [item for key, item in self.objects.items() if key.startswith(f"{wanted}/")]
        return {"items": items, "metadata": {"resourceVersion": str(self.version)}}

    def merge_patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        node = self.objects[path]
        for key, value in body["metadata"]["annotations"].items():
            if value is None:
                node["metadata"]["annotations"].pop(key, None)
            else:
                node["metadata"]["annotations"][key] = value
        return node


class World:
    """One node, the driver, and the driver's installation."""

    def __init__(self, **hardware: Any) -> None:
        self.api = FakeApi()
        self.due: list[str] = []
        self.operand = DraOperand(self.api, self.due.append)  # type: ignore[arg-type]
        data = {"gpus": [HOPPER], "cpu": "1", "memory": "1Gi", "driver": "595.91.07", **hardware}
        self.node: dict[str, Any] = {
            "metadata": {
                "name": "n",
                "uid": "uid",
                "labels": {"pool": "a"},
                "annotations": {HARDWARE_ANNOTATION: json.dumps(data)},
            },
            "spec": {"taints": []},
        }
        self.api.objects["/api/v1/nodes/n"] = self.node
        self.view = ClusterView(None, None, False, {}, DRIVER)

    def look(self) -> str | None:
        for informer in self.operand.informers:
            informer.refresh()
        self.operand.step(self.node, node_view(self.node), self.view)
        return self.node["metadata"]["annotations"].get(DRA_ANNOTATION)

    def driver(self, **changes: Any) -> None:
        self.view = replace(self.view, dra=replace(DRIVER, **changes))

    def slices(self) -> list[dict[str, Any]]:
        return [v["spec"] for k, v in self.api.objects.items() if k.startswith(SLICES)]

    def claim(self, strategy: str) -> None:
        parameters = {
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": "GpuConfig",
            "sharing": {"strategy": strategy},
        }
        result = {"driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-0", "request": "gpu"}
        config = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}]
        self.api.objects[f"{CLAIMS}/c"] = {
            "metadata": {"name": "c", "namespace": "a", "uid": "c", "resourceVersion": "1"},
            "status": {
                "allocation": {"devices": {"results": [result], "config": config}},
                "reservedFor": [{"resource": "pods", "name": "p", "uid": "p"}],
            },
        }


@pytest.fixture
def world() -> World:
    return World()


def test_slices_are_published_once(world: World) -> None:
    assert world.look() == "running: 1 devices"
    (only,) = world.slices()
    assert only["pool"] == {"name": "n", "generation": 1, "resourceSliceCount": 1}
    before = world.api.version
    assert world.look() == "running: 1 devices"
    assert world.api.version == before


def test_another_gate_is_another_generation(world: World) -> None:
    world.look()
    world.driver(gates={**GATES, "DynamicMIG": True})
    assert world.look() == "running: 26 devices"
    assert [s["pool"]["generation"] for s in world.slices()] == [2, 2]
    assert [s["pool"]["resourceSliceCount"] for s in world.slices()] == [2, 2]


def test_slices_somebody_removed_are_made_again(world: World) -> None:
    world.look()
    for key in [key for key in world.api.objects if key.startswith(SLICES)]:
        world.api.delete(key)
    world.look()
    assert len(world.slices()) == 1


def test_the_driver_goes(world: World) -> None:
    world.look()
    world.view = replace(world.view, dra=None)
    assert world.look() is None
    assert world.slices() == []


def test_a_node_it_does_not_select(world: World) -> None:
    world.node["metadata"]["labels"] = {"pool": "b"}
    assert world.look() is None
    assert world.slices() == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"crash": "feature gate A is mutually exclusive with B"}, "mutually exclusive"),
        ({"driver_root": "/run/nvidia/driver"}, "they are in the host"),
    ],
)
def test_a_driver_that_does_not_come_up(world: World, changes: dict[str, Any], words: str) -> None:
    world.look()
    world.driver(**changes)
    assert words in (world.look() or "")
    assert world.slices() == []


def test_a_taint_its_pod_does_not_bear(world: World) -> None:
    world.node["spec"]["taints"] = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
    assert world.look() == "failed: its pod does not bear the taint team=a:NoSchedule"


def test_the_operators_gpu_driver_is_looked_for_where_it_is() -> None:
    world = World(driver=None, toolkit=False)
    assert "the node has no GPU driver" in (world.look() or "")
    world.view = replace(world.view, policy=policy_of(), operator_namespace="gpu-operator")
    assert "they are in /run/nvidia/driver" in (world.look() or "")
    policy = policy_of(driver={"version": "595.91.07"})
    world.view = replace(world.view, policy=policy)
    world.driver(driver_root="/run/nvidia/driver")
    assert world.look() == "running: 1 devices"
    (device,) = world.slices()[0]["devices"]
    assert device["attributes"]["driverVersion"] == {"version": "595.91.7"}


def test_a_refused_claim_is_told_once_on_its_pod(world: World) -> None:
    world.look()
    world.claim("TimeSlicing")
    world.look()
    world.look()
    (said,) = world.api.events
    assert said.startswith("p: Failed to prepare dynamic resources: error preparing devices")
    assert 'unknown GPU sharing strategy: "TimeSlicing"' in said
    world.driver(gates={**GATES, "TimeSlicingSettings": True})
    world.look()
    assert len(world.api.events) == 1


def test_a_claim_whose_driver_is_gone(world: World) -> None:
    world.look()
    world.claim("TimeSlicing")
    world.view = replace(world.view, dra=None)
    world.look()
    (said,) = world.api.events
    assert said.endswith("DRA driver gpu.nvidia.com is not registered on the node")


def test_an_allocated_claim_makes_its_node_due(world: World) -> None:
    world.claim("TimeSlicing")
    world.operand.informers[1].refresh()
    assert world.due == ["n"]


def test_the_device_plugin_is_silent_beside_the_driver() -> None:
    machine = Machine(HOPPER, {"pool": "a"})
    machine.settle()
    assert machine.resources["nvidia.com/gpu"] == "1"
    machine.cluster = replace(machine.cluster, dra=DRIVER)
    assert not machine.settle().healthy
    assert "nvidia.com/gpu" not in machine.resources
    assert "each would be assigned twice" in machine.messages[-1]
    machine.labels["nvidia.com/gpu.deploy.device-plugin"] = "false"
    assert machine.settle().healthy
    assert "nvidia.com/gpu" not in machine.resources


def test_a_vgpu_guest_advertises_whole_devices_and_is_never_cut() -> None:
    guest = {"nvidia.com/gpu.deploy.mig-manager": "false"}
    machine = Machine({**HOPPER, "count": 2}, guest)
    machine.settle()
    assert machine.resources["nvidia.com/gpu"] == "2"
    assert "nvidia.com/mig.config.state" not in machine.labels
