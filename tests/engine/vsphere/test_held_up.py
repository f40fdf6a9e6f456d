"""Causes of a delayed step: a question, a transient fault, an implausible reading."""

import re
from typing import Any

import pytest

from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, Made, created, read, refused
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
QUESTION = (
    b"<propSet><name>runtime.question</name>"
    b'<val xmlns:q="http://www.w3.org/2001/XMLSchema-instance" '
    b'q:type="VirtualMachineQuestionInfo"><id>7</id><text>Was it moved or copied?</text>'
    b"<choice><choiceInfo><key>0</key><label>moved</label><summary>moved</summary></choiceInfo>"
    b"</choice></val></propSet>"
)
POWER = b"<propSet><name>runtime.powerState</name>"


def asking(answer: bytes) -> bytes:
    """vCenter's response while machines have questions: a question is a property of each."""
    return answer.replace(POWER, QUESTION + POWER)


@pytest.mark.parametrize("held_up", [True, False], ids=["while it starts", "once it runs"])
def test_a_machine_that_asks_is_kept_for_the_answer(other: Made, held_up: bool) -> None:
    """Its start continues until an administrator answers: the question is reported long before the
    timeout."""
    delay = {"PowerOnMultiVM": 600_000, "PowerOn": 600_000, "LockHandoff": 0}
    cloud = other(hosts=1, method_delay_ms=delay if held_up else {})
    cloud.proxy.reset([Rule(Action.REWRITE_REPLY, "RetrievePropertiesEx", nth=0, rewrite=asking)])
    text = refused("vsphere-question", lambda: created(cloud.node(1)))
    assert "powering on gpu-1: it asks: Was it moved or copied?" in text
    assert "answer it in the vSphere client" in text
    assert "was kept: the next `pulumi up` continues with it" in text
    assert len(cloud.owned()) == 1
    if not held_up:
        cloud.proxy.reset()
        assert created(cloud.node(1))["adopted"] is True


@pytest.mark.parametrize("fault", ["TaskInProgress", "ResourceInUse", "Timedout"])
def test_a_fault_that_passes_is_waited_for(cloud: Vcenter, fault: str) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "ReconfigVM_Task", fault=fault)])
    assert created(cloud.node(1))["powerState"] == "poweredOn"
    assert cloud.proxy.calls["ReconfigVM_Task"] == 3, "with the one that takes the mark away"


def test_one_that_does_not_pass_is_told_in_the_end(cloud: Vcenter) -> None:
    busy = Rule(Action.FAULT, "ReconfigVM_Task", nth=0, fault="TaskInProgress")
    cloud.proxy.reset([busy])
    text = refused("vsphere-busy", lambda: created(cloud.node(1)))
    assert "reconfiguring gpu-1 failed" in text
    assert "also after waiting" in text
    assert cloud.proxy.calls["ReconfigVM_Task"] >= 3


@pytest.mark.parametrize("fault", ["InvalidState", "NotSupported", "NoDiskSpace"])
def test_other_faults_are_told_at_once(cloud: Vcenter, fault: str) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "ReconfigVM_Task", nth=0, fault=fault)])
    with pytest.raises(Exception, match="reconfiguring gpu-1 failed"):
        created(cloud.node(1))
    assert cloud.proxy.calls["ReconfigVM_Task"] == 1


def test_who_changed_a_machine_last_is_told(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    cloud.proxy.reset([Rule(Action.FAULT, "ReconfigVM_Task", nth=0, fault="ConcurrentAccess")])
    changed = cloud.node(1, annotation="new")
    update = lambda: PROVIDER.update(outs["instanceUuid"], outs, changed)  # noqa: E731
    text = refused("vsphere-conflict", update)
    assert re.search(r"its last event is Vm\w+Event by \w+ at \d{4}-\d{2}-\d{2}T", text)


def test_a_machine_is_not_gone_because_its_folder_cannot_be_seen(other: Made) -> None:
    cloud = other(hosts=1)
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        datacenter.vmFolder.CreateFolder("gpus")
    node: dict[str, Any] = cloud.node(1)
    node["place"]["folder"] = "gpus"
    outs = created(node)
    cloud.remove_owned()
    assert PROVIDER.read(outs["instanceUuid"], outs).id == "", "it is gone from a folder in sight"
    hidden = {**outs, "place": {**outs["place"], "folder": "gone"}}
    text = refused("vsphere-not-found", lambda: read(hidden))
    assert "no folder named 'gone' that this user can see" in text
