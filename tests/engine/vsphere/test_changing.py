"""A machine that lives: drift, other people, and changes that need it off."""

from pyVmomi import vim

from gpufleet.nodes.vsphere.errors import Code
from gpufleet.nodes.vsphere.guest_data import USER_DATA_KEYS
from gpufleet.sandbox.vcenter.fault_proxy import Action, Rule
from tests.engine.vcenter_fixture import VGPU, Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, created, finished, read, refused

pytestmark = UNCLOSED


def test_a_suspended_machine_is_reported_and_left(cloud: Vcenter) -> None:
    node = cloud.node(1)
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        finished(machine.SuspendVM_Task())
    seen = read(outs)
    assert seen["drifted"] == {"powerState": "suspended"}
    assert seen["warnings"] == ["the machine is suspended, which nobody declared"]
    cloud.proxy.reset()
    text = refused(Code.HOST_STATE, lambda: PROVIDER.update(outs["instanceUuid"], seen, node))
    assert "gpu-1 is suspended" in text
    assert cloud.proxy.changing == {}


def test_cleared_user_data_is_no_drift(cloud: Vcenter) -> None:
    node = cloud.node(1, VGPU)
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        empty = [vim.option.OptionValue(key=key, value="") for key in USER_DATA_KEYS]
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(extraConfig=empty)))
    seen = read(outs)
    assert seen["drifted"] == {}
    assert PROVIDER.diff(outs["instanceUuid"], seen, node).changes is False


def test_somebody_who_keeps_changing_the_machine(cloud: Vcenter) -> None:
    node = cloud.node(1)
    outs = created(node)
    cloud.proxy.reset([Rule(Action.FAULT, "ReconfigVM_Task", nth=0, fault="ConcurrentAccess")])
    changed = cloud.node(1, updatePolicy="restart", cpus=16)
    text = refused(Code.CONFLICT, lambda: PROVIDER.update(outs["instanceUuid"], outs, changed))
    assert "still differs after 4 reconfigurations" in text
    assert cloud.proxy.calls["ReconfigVM_Task"] == 3, "one attempt switched it off"


def test_a_change_that_needs_power_off(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    changed = cloud.node(1, cpus=16)
    text = refused(
        Code.NEEDS_POWER_OFF, lambda: PROVIDER.update(outs["instanceUuid"], outs, changed)
    )
    assert "gpu-1 is poweredOn, and it must be off to change cpus" in text
