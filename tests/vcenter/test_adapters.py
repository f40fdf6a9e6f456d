"""Adapters of machines that are played: which are left, moved, added and removed."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.adapters import (
    FoundNetwork,
    WantedAdapter,
    adapter_changes,
    on_network,
)
from gpufleet_vcenter.observed import MachineDifference
from gpufleet_vcenter.outputs import adapter_drift
from gpufleet_vcenter.settings import Place
from tests.vcenter.test_outputs import LIVE

CARD = vim.vm.device.VirtualEthernetCard


def network(name: str) -> FoundNetwork:
    if name.startswith("dv"):
        port = vim.dvs.PortConnection(portgroupKey=name, switchUuid="s")
        return FoundNetwork(None, name, name, CARD.DistributedVirtualPortBackingInfo(port=port))
    if name.startswith("nsx"):
        backing = CARD.OpaqueNetworkBackingInfo(opaqueNetworkId=name, opaqueNetworkType="nsx")
        return FoundNetwork(None, name, name, backing)
    return FoundNetwork(
        None, name, name, CARD.NetworkBackingInfo(network=vim.Network(name), deviceName=name)
    )


def card(place: int, name: str, kind: Any = vim.vm.device.VirtualVmxnet3) -> Any:
    return kind(key=4000 + place, unitNumber=7 + place, backing=network(name).backing)


def wish(text: str) -> WantedAdapter:
    """`network/type`, either of them empty."""
    name, _, kind = text.partition("/")
    return WantedAdapter(network(name) if name else None, kind or None)


def lacking(
    wanted: Sequence[str], live: Any, former: Sequence[str | None] | None, *, all_told: bool = True
) -> MachineDifference:
    found = MachineDifference()
    adapter_changes(found, [wish(text) for text in wanted], live, former, all_told=all_told)
    return found


def told(
    wanted: Sequence[str], cards: Sequence[Any], former: Sequence[str | None] | None, **more: Any
) -> list[str]:
    """`operation network` of each change."""
    live = dataclasses.replace(LIVE, devices=tuple(cards))
    found = lacking(wanted, live, former, **more)
    changes = [f"{c.operation} {on_network(c.device)}" for c in found.devices]
    assert bool(found.off) is any(text.startswith("remove") for text in changes)
    return changes


E1000E = vim.vm.device.VirtualE1000e


@pytest.mark.parametrize(
    ("wanted", "cards", "former", "changes"),
    [
        (["a", "dv1", "nsx"], [card(0, "a"), card(1, "dv1"), card(2, "nsx")], None, []),
        (["b", "a"], [card(0, "a"), card(1, "b")], ["a", "b"], []),
        (["a", "b"], [card(0, "a")], ["a"], ["add b"]),
        (["a", "c"], [card(0, "a"), card(1, "b")], ["a", "b"], ["edit c"]),
        (["a"], [card(0, "a"), card(1, "b")], ["a", "b"], ["remove b"]),
        (["a/e1000e"], [card(0, "a")], ["a"], ["remove a", "add a"]),
        (["/e1000e"], [card(0, "a")], [None], ["remove a", "add a"]),
        (["", "b"], [card(0, "b"), card(1, "a")], ["a", "b"], []),
        # An adapter that another user added stays, also when the declaration grows or shrinks.
        (["a", "c"], [card(0, "a"), card(1, "theirs")], ["a"], ["add c"]),
        (["a"], [card(0, "a"), card(1, "theirs")], ["a", "b"], []),
        # Another user moved one of ours.
        (["a", "b"], [card(0, "a"), card(1, "z")], ["a", "b"], ["edit b"]),
        # A run that was killed after it had removed one is run again.
        (["a"], [card(0, "a")], ["a", "b"], []),
        # Before the first boot all adapters are the template's.
        (["a"], [card(0, "x"), card(1, "y")], None, ["remove y", "edit a"]),
        (["a", "b", "c"], [card(0, "x")], None, ["edit a", "add b", "add c"]),
        (["a/vmxnet3", "b/e1000e"], [card(0, "x", E1000E)], None, ["edit b", "add a"]),
        # Nothing is declared, and there is nothing.
        ([""], [], None, []),
    ],
)
def test_changes(
    wanted: list[str], cards: list[Any], former: list[str | None] | None, changes: list[str]
) -> None:
    assert sorted(told(wanted, cards, former)) == sorted(changes)


SRIOV = vim.vm.device.VirtualSriovEthernetCard


@pytest.mark.parametrize(
    ("wanted", "cards", "changes", "off"),
    [
        (["a", "dv1/sriov"], [card(0, "a"), card(1, "dv1", SRIOV)], [], False),
        (["a", "dv1/sriov"], [card(0, "a")], ["add dv1"], True),
        (["a", "dv1/sriov"], [card(0, "a"), card(1, "dv2", SRIOV)], ["edit dv1"], True),
        (["a", "dv1/sriov"], [card(0, "a"), card(1, "dv1")], ["remove dv1", "add dv1"], True),
        (["b", "dv1/sriov"], [card(0, "a"), card(1, "dv1", SRIOV)], ["edit b"], False),
    ],
)
def test_functions_of_a_nic_change_while_the_machine_is_off(
    wanted: list[str], cards: list[Any], changes: list[str], off: bool
) -> None:
    live = dataclasses.replace(LIVE, devices=tuple(cards))
    former = [on_network(one) for one in cards]
    found = lacking(wanted, live, former)
    assert sorted(f"{c.operation} {on_network(c.device)}" for c in found.devices) == sorted(changes)
    assert bool(found.off) is off
    added = [one.device for one in found.devices if one.operation == "add"]
    assert all(isinstance(one, SRIOV) for one in added)


def test_the_template_keeps_what_nothing_is_said_of() -> None:
    assert told(["a"], [card(0, "a"), card(1, "b")], None, all_told=False) == []


def test_a_running_machine_gets_its_adapter_connected() -> None:
    for power, connected in (("poweredOn", True), ("poweredOff", False)):
        live = dataclasses.replace(LIVE, devices=(card(0, "a"),), power=power)
        (change,) = lacking(["a", "b"], live, ["a"]).devices
        assert change.device.connectable.connected is connected


PLACE = {"datacenter": "DC", "cluster": "C", "template": "t"}
VM_NETWORK = {"network": "VM Network", "adapter": "vmxnet3"}


@pytest.mark.parametrize(
    ("place", "has", "drifted"),
    [
        ({}, [], {}),
        ({"network": "VM Network"}, [VM_NETWORK], {}),
        ({"network": "/DC/network/VM Network"}, [VM_NETWORK], {}),
        ({"network": "other"}, [VM_NETWORK], {"place.network": "VM Network"}),
        ({"network": "other"}, [], {"place.network": ""}),
        ({"adapter": "e1000e"}, [VM_NETWORK], {"place.adapter": "vmxnet3"}),
        (
            {"networks": [{"network": "a"}, {"network": "VM Network"}]},
            [VM_NETWORK],
            {"place.networks": [VM_NETWORK]},
        ),
        (
            {"networks": [{"network": "VM Network"}]},
            [{**VM_NETWORK, "network": "x"}, VM_NETWORK],
            {},
        ),
    ],
)
def test_drift(place: dict[str, Any], has: list[dict[str, str]], drifted: dict[str, Any]) -> None:
    assert adapter_drift(Place.model_validate({**PLACE, **place}), has) == drifted
