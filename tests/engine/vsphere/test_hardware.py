"""Properties fixed at creation, and those that change only while the machine is off."""

from typing import Any

import pytest
from pyVmomi import vim

from tests.engine.vcenter_fixture import VGPU, Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, created, finished, read, refused
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED


def updated(outs: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.update(outs["instanceUuid"], outs, node).outs or {}


def upgraded(cloud: Vcenter, version: int) -> Rule:
    """The upgrade is done and its response lost. The simulator here does not survive the call
    itself, so an administrator's reconfiguration has the effect."""

    def upgrade() -> None:
        with cloud.machine("gpu-1") as machine:
            finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(version=f"vmx-{version}")))

    return Rule(Action.DROP_REQUEST, "UpgradeVM_Task", nth=0, do=upgrade)


def test_hardware_is_upgraded_while_the_machine_is_off(cloud: Vcenter) -> None:
    cloud.proxy.reset([upgraded(cloud, 21)])
    outs = created(cloud.node(1, hardwareVersion=21.0, coresPerSocket=4.0))
    assert (outs["hardwareVersionActual"], outs["drifted"]) == (21, {})
    assert cloud.proxy.calls["UpgradeVM_Task"] == 1
    with cloud.machine("gpu-1") as machine:
        assert machine.config.hardware.numCoresPerSocket == 4

    newer = cloud.node(1, hardwareVersion=22.0, coresPerSocket=2.0)
    text = refused("vsphere-needs-power-off", lambda: updated(outs, newer))
    assert "it must be off to change coresPerSocket, hardwareVersion" in text
    cloud.proxy.reset([upgraded(cloud, 22)])
    outs = updated(outs, {**newer, "updatePolicy": "restart"})
    assert (outs["hardwareVersionActual"], outs["powerState"]) == (22, "poweredOn")
    assert cloud.proxy.calls["UpgradeVM_Task"] == 1
    assert cloud.proxy.changing["PowerOffVM_Task"] == 1
    with cloud.machine("gpu-1") as machine:
        assert machine.config.version == "vmx-22"
        assert machine.config.hardware.numCoresPerSocket == 2

    cloud.proxy.reset()
    older = cloud.node(1, hardwareVersion=20.0, updatePolicy="restart")
    text = refused("vsphere-unsupported", lambda: updated(outs, older))
    assert "20 is older than the 22 the machine has, and virtual hardware cannot go back" in text
    assert cloud.proxy.changing == {}


def test_a_version_that_no_host_knows(cloud: Vcenter) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "UpgradeVM_Task", fault="NotSupported")])
    text = refused("vsphere-unsupported", lambda: created(cloud.node(1, hardwareVersion=98.0)))
    assert "upgrading the virtual hardware of gpu-1 from 20 to 98 failed" in text
    assert cloud.owned() == []


def test_a_template_that_is_not_what_is_declared(cloud: Vcenter) -> None:
    node = cloud.node(1, hardwareVersion=19.0, guestId="ubuntu64Guest")
    text = refused("vsphere-template", lambda: created(node))
    assert "its hardware version is 20 and hardwareVersion is 19: virtual hardware cannot" in text
    assert "its guest is otherGuest and guestId is ubuntu64Guest" in text
    assert cloud.proxy.changing == {}


def test_a_guest_and_a_firmware_that_somebody_changed(cloud: Vcenter) -> None:
    node = cloud.node(1, guestId="otherGuest")
    outs = created(node)
    assert outs["guestIdActual"] == "otherGuest"
    firmware = "efi" if outs["firmware"] == "bios" else "bios"
    with cloud.machine("gpu-1") as machine:
        spec = vim.vm.ConfigSpec(guestId="ubuntu64Guest", firmware=firmware)
        finished(machine.ReconfigVM_Task(spec))
    seen = read(read(outs))
    assert seen["drifted"] == {"guestId": "ubuntu64Guest", "firmware": firmware}
    cloud.proxy.reset()
    text = refused("vsphere-unsupported", lambda: updated(seen, node))
    assert f"firmware: it is '{firmware}' now: the guest was installed under the other" in text
    assert "guestId: 'ubuntu64Guest' cannot become 'otherGuest'" in text
    assert cloud.proxy.changing == {}


def test_another_type_of_adapter_and_its_network(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    with cloud.machine("gpu-1") as machine:
        before = adapter(machine)
    node = cloud.node(1, updatePolicy="restart")
    node["place"] |= {"adapter": "vmxnet3", "network": "VM Network"}
    other = "e1000e" if isinstance(before, vim.vm.device.VirtualVmxnet3) else "vmxnet3"
    node["place"]["adapter"] = other
    outs = updated(outs, node)
    assert outs["drifted"] == {}
    assert outs["powerState"] == "poweredOn"
    with cloud.machine("gpu-1") as machine:
        after = adapter(machine)
        assert type(after) is not type(before)
        assert after.backing.deviceName == "VM Network"
    cloud.proxy.reset()
    node["place"]["network"] = "DC0_DVPG0"
    outs = updated(outs, node)
    assert cloud.proxy.changing == {"ReconfigVM_Task": 1}, "the network changes while it runs"
    assert outs["drifted"] == {}


def adapter(machine: Any) -> Any:
    cards = [
        device
        for device in machine.config.hardware.device
        if isinstance(device, vim.vm.device.VirtualEthernetCard)
    ]
    (card,) = cards
    return card


def test_a_device_that_somebody_added_is_left_and_told(cloud: Vcenter) -> None:
    node = cloud.node(1)
    outs = created(node)
    backing = vim.vm.device.VirtualPCIPassthrough.VmiopBackingInfo(vgpu="grid_a100d-20c")
    device = vim.vm.device.VirtualPCIPassthrough(key=-1, backing=backing)
    add = vim.vm.device.VirtualDeviceSpec(operation="add", device=device)
    with cloud.machine("gpu-1") as machine:
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=[add])))
    seen = read(outs)
    assert seen["drifted"] == {}
    assert seen["warnings"] == ["the machine has a vgpu device grid_a100d-20c that is not declared"]
    changed = updated(seen, cloud.node(1, VGPU, updatePolicy="restart"))
    assert [gpu["what"] for gpu in changed["gpuDevices"]] == ["grid_a100d-20c", "grid_a100d-10c"]


@pytest.mark.parametrize(
    "more",
    [
        {"timeouts": {"clone": 60.0}},
        {"onCreateFailure": "keep"},
        {"deletePolicy": "hard"},
        {"updatePolicy": "restart"},
        {"ignoreUserDataChanges": True},
    ],
)
def test_what_concerns_only_the_provider_calls_nobody(
    cloud: Vcenter, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = cloud.node(1)
    outs = created(node)
    cloud.proxy.reset()
    monkeypatch.delenv("VSPHERE_PASSWORD")
    changed = {**node, **more}
    changed["endpoint"] = {**node["endpoint"], "credentialsKey": "other"}
    assert PROVIDER.diff(outs["instanceUuid"], outs, changed).changes is True
    after = updated(outs, changed)
    assert cloud.proxy.total == 0
    assert {**outs, **more, "endpoint": after["endpoint"]} == after


def test_the_simulator_upgrades_a_machine(cloud: Vcenter) -> None:
    """Nothing is played: the call goes to the simulator and comes back."""
    outs = created(cloud.node(1, hardwareVersion=21.0))
    assert (outs["hardwareVersionActual"], outs["drifted"]) == (21, {})
    assert cloud.proxy.calls["UpgradeVM_Task"] == 1


def test_the_simulator_survives_the_removal_of_an_override(cloud: Vcenter) -> None:
    """It cannot decode which device is removed, and reports it."""
    outs = created(cloud.node(1, drsBehavior="manual"))
    text = refused("vsphere-fault", lambda: updated(outs, cloud.node(1)))
    assert "[InvalidArgument]" in text
    assert read(outs)["drifted"] == {}
