"""A running machine: drift, changes by others, and changes that need it off."""

from pyVmomi import vim

from gpufleet_vcenter.guest_data import USER_DATA_KEYS
from tests.engine.vcenter_fixture import VGPU, Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, Made, created, finished, read, refused
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED


def test_a_suspended_machine_is_reported_and_left(cloud: Vcenter) -> None:
    node = cloud.node(1)
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        finished(machine.SuspendVM_Task())
    seen = read(outs)
    assert seen["drifted"] == {"powerState": "suspended"}
    assert seen["warnings"] == ["the machine is suspended, which is not declared"]
    cloud.proxy.reset()
    text = refused("vsphere-host-state", lambda: PROVIDER.update(outs["instanceUuid"], seen, node))
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
    text = refused("vsphere-conflict", lambda: PROVIDER.update(outs["instanceUuid"], outs, changed))
    assert "still differs after 4 changes" in text
    assert cloud.proxy.calls["ReconfigVM_Task"] == 4


def test_a_change_that_needs_power_off(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    changed = cloud.node(1, cpus=16)
    text = refused(
        "vsphere-needs-power-off", lambda: PROVIDER.update(outs["instanceUuid"], outs, changed)
    )
    assert "gpu-1 is poweredOn, and it must be off to change cpus" in text


def test_a_machine_moves_to_another_folder_and_pool_while_it_runs(other: Made) -> None:
    cloud = other(hosts=1)
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        datacenter.vmFolder.CreateFolder("gpus")
        (compute,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        shares = vim.ResourceAllocationInfo(
            reservation=0,
            expandableReservation=True,
            limit=-1,
            shares=vim.SharesInfo(level="normal", shares=0),
        )
        compute.resourcePool.CreateResourcePool(
            "training", vim.ResourceConfigSpec(cpuAllocation=shares, memoryAllocation=shares)
        )
    outs = created(cloud.node(1))
    moved = cloud.node(1)
    moved["place"] |= {"folder": "gpus", "resourcePool": "training"}
    diff = PROVIDER.diff(outs["instanceUuid"], outs, moved)
    assert (diff.changes, diff.replaces) == (True, [])
    cloud.proxy.reset([Rule(Action.DROP_REPLY, "MoveIntoFolder_Task", nth=1)])
    outs = PROVIDER.update(outs["instanceUuid"], outs, moved).outs or {}
    assert cloud.proxy.changing == {"RelocateVM_Task": 1, "MoveIntoFolder_Task": 1}
    with cloud.machine("gpu-1") as machine:
        assert (machine.parent.name, machine.resourcePool.name) == ("gpus", "training")

    assert read(outs)["powerState"] == "poweredOn"

    back = cloud.node(1)
    cloud.proxy.reset([Rule(Action.DROP_REQUEST, "RelocateVM_Task", nth=0)])
    text = refused("vsphere-conflict", lambda: PROVIDER.update(outs["instanceUuid"], outs, back))
    assert "gpu-1 still differs after 4 changes; its last event is Vm" in text
    cloud.proxy.reset()

    taken = cloud.node(2)
    taken["place"]["folder"] = "gpus"
    taken["name"] = "gpu-1"
    elsewhere = created(cloud.node(2, name="gpu-1"))
    text = refused(
        "vsphere-name-taken", lambda: PROVIDER.update(elsewhere["instanceUuid"], elsewhere, taken)
    )
    assert "the folder has a machine named gpu-1" in text
    assert "the folder is gpus" in text
