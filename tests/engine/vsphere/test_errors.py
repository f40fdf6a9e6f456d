"""Failures that only another actor, or a connection at the worst moment, can cause."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import vim

from tests.engine.vcenter_fixture import FIXED, Vcenter
from tests.engine.vsphere.direct import (
    GROUP,
    PROVIDER,
    UNCLOSED,
    created,
    finished,
    group_inputs,
    refused,
)
from tests.engine.waiting import until
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
STATE = "<requestedState>poweredOn</requestedState><existingState>poweredOff</existingState>"
TAKEN = '<name>gpu-1</name><object type="VirtualMachine">vm-9999</object>'


@pytest.mark.parametrize(
    ("rule", "code", "expected"),
    [
        (
            Rule(Action.DROP_REQUEST, "CloneVM_Task", nth=0),
            "vsphere-connection",
            "cloning gpu-1 from gpu-template: the connection broke, or vCenter was restarted",
        ),
        (
            Rule(Action.FAULT, "CloneVM_Task", nth=1, fault="DuplicateName", inner=TAKEN),
            "vsphere-name-taken",
            "the name is taken by an object this user cannot see",
        ),
        (
            Rule(
                Action.REWRITE,
                "CloneVM_Task",
                nth=1,
                rewrite=lambda body: re.sub(
                    rb"<instanceUuid>.{8}", b"<instanceUuid>00000000", body
                ),
            ),
            "vsphere-conflict",
            "vCenter assigned another uuid, or someone removed the machine",
        ),
        (
            Rule(
                Action.FAULT, "PowerOnMultiVM_Task", nth=0, fault="InvalidPowerState", inner=STATE
            ),
            "vsphere-host-state",
            "gpu-1 received the request to power on, but is poweredOff",
        ),
        (
            Rule(Action.DROP_REQUEST, "PowerOnMultiVM_Task", nth=0),
            "vsphere-connection",
            "powering on gpu-1: the connection broke 3 times",
        ),
    ],
    ids=["request lost", "name taken unseen", "another uuid", "does not start", "never told"],
)
def test_a_create_that_fails(cloud: Vcenter, rule: Rule, code: str, expected: str) -> None:
    cloud.proxy.reset([rule])
    assert expected in refused(code, lambda: created(cloud.node(1)))


@pytest.mark.parametrize("action", [Action.DROP_REQUEST, Action.DROP_REPLY])
def test_a_start_whose_answer_is_lost_is_told_again(cloud: Vcenter, action: Action) -> None:
    cloud.proxy.reset([Rule(action, "PowerOnMultiVM_Task", nth=1)])
    started = time.monotonic()
    assert created(cloud.node(1))["powerState"] == "poweredOn"
    assert time.monotonic() - started < 300, "not for as long as a start may take: ten minutes"
    assert cloud.proxy.calls["PowerOnMultiVM_Task"] in (1, 2)


def destroyed_by_another(cloud: Vcenter) -> None:
    """Another client destroys the machine as soon as it has been reconfigured."""
    with cloud.machine("gpu-1") as machine:
        until(lambda: machine.config.memoryReservationLockedToMax, "it is never reconfigured")
        finished(machine.Destroy_Task())


def test_a_machine_that_is_removed_while_it_is_worked_on(cloud: Vcenter) -> None:
    rule = Rule(Action.AFTER, "ReconfigVM_Task", nth=1, do=lambda: destroyed_by_another(cloud))
    cloud.proxy.reset([rule])
    text = refused("vsphere-not-found", lambda: created(cloud.node(1)))
    assert "was removed while it was worked on" in text


def test_a_machine_that_is_gone_is_not_changed(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    cloud.remove_owned()
    changed = cloud.node(1, cpus=16, updatePolicy="restart")
    text = refused(
        "vsphere-not-found", lambda: PROVIDER.update(outs["instanceUuid"], outs, changed)
    )
    assert f"gpu-1 (instance uuid {outs['instanceUuid']}) is gone from vCenter" in text
    assert "run `pulumi refresh`" in text


@pytest.fixture
def twin(cloud: Vcenter) -> Iterator[dict[str, Any]]:
    """A machine of ours, and a copy with its uuid and without its marks."""
    outs = created(cloud.node(1))
    with cloud.machine("gpu-1") as machine, cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        spec = vim.vm.CloneSpec(
            location=vim.vm.RelocateSpec(pool=machine.resourcePool),
            config=vim.vm.ConfigSpec(instanceUuid=outs["instanceUuid"]),
        )
        finished(machine.CloneVM_Task(datacenter.vmFolder, "twin", spec))
    yield outs
    with cloud.machine("twin") as machine:
        finished(machine.Destroy_Task())


def test_two_machines_with_one_uuid(cloud: Vcenter, twin: dict[str, Any]) -> None:
    for operation in (
        lambda: created(cloud.node(1)),
        lambda: PROVIDER.delete(twin["instanceUuid"], twin),
    ):
        text = refused("vsphere-ambiguous", operation)
        assert f"2 machines have the instance uuid {twin['instanceUuid']}" in text


def test_a_device_that_the_host_does_not_have(cloud: Vcenter) -> None:
    outs = created(cloud.node(1, FIXED))
    other = {"mode": "fixed", "pciAddresses": ["0000:01:00.0"]}
    changed = cloud.node(1, other, updatePolicy="restart")
    text = refused("vsphere-gpu-none", lambda: PROVIDER.update(outs["instanceUuid"], outs, changed))
    assert "offers no passthrough device 0000:01:00.0; it offers 0000:3b:00.0" in text


def test_a_connection_that_breaks_at_each_attempt_to_remove(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    cloud.proxy.reset([Rule(Action.DROP_REQUEST, "Destroy_Task", nth=0)])
    text = refused("vsphere-connection", lambda: PROVIDER.delete(outs["instanceUuid"], outs))
    assert "removing gpu-1: the connection broke 3 times" in text
    assert "gpu-1 still exists" in text


def test_a_group_that_cannot_remove_what_it_made(cloud: Vcenter) -> None:
    outs: dict[str, Any] = GROUP.create(group_inputs(cloud, 1)).outs or {}
    cloud.proxy.reset([Rule(Action.FAULT, "Destroy_Task", nth=0, fault="InvalidState")])
    text = refused("vsphere-fault", lambda: GROUP.delete("group", outs))
    assert "vsphere-host-state: " in text
    assert "gpu-1" in text
    assert len(cloud.owned()) == 1


def test_inputs_that_the_state_cannot_have_held(cloud: Vcenter) -> None:
    text = refused("vsphere-fault", lambda: created(cloud.node(1, cpus=0)))
    assert "the inputs are not usable: cpus: Input should be greater than or equal to 1" in text
    assert cloud.proxy.total == 0
