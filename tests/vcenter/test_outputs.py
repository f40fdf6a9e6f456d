"""Results of reading a machine: drift, warnings, and the fields that the state keeps."""

import dataclasses
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.adapters import adapter_type
from gpufleet_vcenter.observed import GpuDevice, Observed
from gpufleet_vcenter.outputs import (
    OBSERVED,
    MachineContext,
    outputs,
)
from gpufleet_vcenter.settings import NodeSettings, problems_of

NODE: dict[str, Any] = {
    "owner": "o/p/s/g/0",
    "generation": "0123456789ab",
    "endpoint": {"server": "vc.example.com"},
    "place": {"datacenter": "DC", "cluster": "C", "template": "t"},
    "name": "gpu-0",
    "cpus": 8,
    "memoryMib": 65_536,
    "gpu": {"mode": "vgpu", "profile": "grid_a100d-10c", "count": 1},
    "gpuMemoryGib": 80,
}
DEVICES = (
    vim.vm.device.ParaVirtualSCSIController(key=1000),
    vim.vm.device.VirtualDisk(
        key=2000,
        controllerKey=1000,
        unitNumber=0,
        capacityInKB=200 << 20,
        capacityInBytes=200 << 30,
    ),
    vim.vm.device.VirtualVmxnet3(key=4000, unitNumber=7),
)
LIVE = Observed(
    reference=vim.VirtualMachine("vm-7"),
    name="gpu-0",
    instance_uuid="11111111-2222-3333-4444-555555555555",
    bios_uuid="b",
    change_version="1",
    hardware_version=20,
    firmware="efi",
    is_template=False,
    extra_config={"pciPassthru.64bitMMIOSizeGB": "256"},
    memory_locked=True,
    memory_reservation_mib=65_536,
    latency_sensitivity="normal",
    cpus=8,
    memory_mib=65_536,
    gpus=(GpuDevice(13_000, "vgpu", "grid_a100d-10c"),),
    devices=DEVICES,
    power="poweredOn",
    connection="connected",
    host=None,
    question="",
    address="",
    tools_running=True,
    datastores=(),
    guest_id="ubuntu64Guest",
    annotation="ours",
    cores_per_socket=4,
    cpu_reservation_mhz=0,
)
TAG = {"category": "environment", "name": "production"}


def found(
    node: dict[str, Any] | None = None, described: tuple[Any, ...] = (), **live: Any
) -> dict[str, Any]:
    given = {**NODE, **(node or {})}
    machine = dataclasses.replace(LIVE, **live)
    cards = [{"network": "", "adapter": adapter_type(card)} for card in machine.adapters]
    seen = MachineContext("esx1", False, "efi", *(described or ({}, frozenset())), cards)
    return outputs(given, NodeSettings.model_validate(given), machine, seen)


def test_a_machine_as_it_was_declared() -> None:
    declared = {
        "hardwareVersion": 20,
        "guestId": "ubuntu64Guest",
        "coresPerSocket": 4,
        "annotation": "ours",
        "tags": [TAG],
        "customAttributes": {"a": "1"},
        "place": {**NODE["place"], "adapter": "vmxnet3"},
    }
    has = ({"a": "1"}, frozenset({("environment", "production")}))
    made = found(declared, has)
    assert made["drifted"] == {}
    assert made["warnings"] == []
    assert set(made) == {*NODE, *declared, *OBSERVED}
    assert made.keys() >= OBSERVED


@pytest.mark.parametrize(
    ("node", "live", "drifted"),
    [
        ({}, {"cpus": 4}, {"cpus": 4}),
        ({}, {"memory_mib": 4}, {"memoryMib": 4}),
        ({}, {"memory_locked": False}, {"memoryLocked": False}),
        ({"diskGib": 100}, {}, {"diskGib": 200}),
        ({}, {"gpus": ()}, {"gpu": []}),
        ({}, {"extra_config": {}}, {"mmioGib": ""}),
        ({}, {"latency_sensitivity": "high"}, {"latencySensitivity": "high"}),
        ({"extraConfig": {"a": "1"}}, {}, {"extraConfig": {"a": ""}}),
        ({}, {"power": "poweredOff"}, {"powerState": "poweredOff"}),
        ({}, {"firmware": "bios"}, {"firmware": "bios"}),
        ({"guestId": "rhel9_64Guest"}, {}, {"guestId": "ubuntu64Guest"}),
        ({"hardwareVersion": 21}, {}, {"hardwareVersion": 20}),
        ({"coresPerSocket": 2}, {}, {"coresPerSocket": 4}),
        ({"coresPerNumaNode": 4}, {"cores_per_numa_node": 8}, {"coresPerNumaNode": 8}),
        ({"cpuReservationMhz": 900}, {}, {"cpuReservationMhz": 0}),
        ({"cpuShares": "high"}, {"cpu_shares": "normal"}, {"cpuShares": "normal"}),
        (
            {"place": {**NODE["place"], "adapter": "e1000e"}},
            {},
            {"place.adapter": "vmxnet3"},
        ),
        ({"annotation": "other"}, {}, {"annotation": "ours"}),
        ({"customAttributes": {"a": "1"}}, {}, {"customAttributes": {}}),
        ({"tags": [TAG]}, {}, {"tags": []}),
    ],
)
def test_each_drift(node: dict[str, Any], live: dict[str, Any], drifted: dict[str, Any]) -> None:
    assert found(node, **live)["drifted"] == drifted


@pytest.mark.parametrize(
    ("live", "warning"),
    [
        ({"power": "suspended"}, "the machine is suspended, which is not declared"),
        ({"connection": "disconnected"}, "vCenter says the machine is disconnected"),
        ({"connection": "inaccessible"}, "vCenter says the machine is inaccessible"),
        ({"connection": "orphaned"}, "vCenter says the machine is orphaned"),
        ({"question": "Moved?"}, "the machine waits for an answer: Moved?"),
        (
            {"gpus": (*LIVE.gpus, GpuDevice(1, "fixed", "0000:3b:00.0"))},
            "the machine has a fixed device 0000:3b:00.0 that is not declared",
        ),
    ],
)
def test_each_warning(live: dict[str, Any], warning: str) -> None:
    assert found(**live)["warnings"] == [warning]


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({"guestId": "not a guest"}, "String should match pattern"),
        ({"hardwareVersion": 8}, "Input should be greater than or equal to 9"),
    ],
)
def test_each_refusal_of_an_input(node: dict[str, Any], reason: str) -> None:
    ((_, found_reason),) = problems_of(NodeSettings, {**NODE, **node})
    assert reason in found_reason
