"""Further disks and network adapters of a machine: what comes, grows, goes and stays."""

import re
from typing import Any
from urllib.parse import unquote

import pytest
from pyVmomi import vim

from gpufleet_vcenter.adapters import adapter_type, on_network
from gpufleet_vcenter.disks import MARK
from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, Made, created, finished, read, refused
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
SCRATCH = {"name": "scratch", "sizeGib": 10.0}
MODELS = {"name": "models", "sizeGib": 20.0, "format": "thick"}


def updated(outs: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.update(outs["instanceUuid"], outs, node).outs or {}


def with_disks(cloud: Vcenter, *disks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return cloud.node(1, extraDisks=list(disks), **more)


def of(machine: Any, kind: Any) -> list[Any]:
    """Devices of this kind."""
    return [item for item in machine.config.hardware.device if isinstance(item, kind)]


def sizes(cloud: Vcenter, name: str = "gpu-1") -> list[int]:
    """GiB of each disk of a machine next to its first, by place."""
    with cloud.machine(name) as machine:
        _, *further = sorted(
            of(machine, vim.vm.device.VirtualDisk),
            key=lambda disk: (disk.controllerKey, disk.unitNumber),
        )
        return [disk.capacityInBytes >> 30 for disk in further]


def files(cloud: Vcenter, pattern: str) -> list[str]:
    """Names of the files in the machines' folders that have this in them."""
    with cloud.service() as service:
        content = service.RetrieveContent()
        view = content.viewManager.CreateContainerView(content.rootFolder, [vim.Datastore], True)
        found: list[str] = []
        for store in view.view:
            spec = vim.host.DatastoreBrowser.SearchSpec(matchPattern=["*.vmdk"])
            task = store.browser.SearchDatastoreSubFolders_Task(f"[{store.name}]", spec)
            finished(task)
            found += [row.folderPath + item.path for row in task.info.result for item in row.file]
    return sorted(path for path in found if pattern in path and "-flat" not in path)


def test_disks_come_grow_and_go(cloud: Vcenter) -> None:
    before = files(cloud, "gpu-1")
    assert before == []
    cloud.proxy.reset()
    outs = created(with_disks(cloud, SCRATCH, MODELS))
    assert cloud.proxy.changing["ReconfigVM_Task"] == 2, "the mark goes last"
    assert (sizes(cloud), outs["drifted"]) == ([10, 20], {})
    assert [(row["name"], row["sizeGib"]) for row in outs["disks"]] == [
        ("models", 20),
        ("scratch", 10),
    ]
    assert len({row["file"] for row in outs["disks"]}) == 2
    assert read(outs) == outs

    larger = {**SCRATCH, "sizeGib": 15.0}
    cloud.proxy.reset()
    outs = updated(outs, with_disks(cloud, larger, MODELS, {"name": "logs", "sizeGib": 1.0}))
    assert cloud.proxy.changing == {"ReconfigVM_Task": 1}, "while it runs"
    assert (sizes(cloud), outs["drifted"]) == ([15, 20, 1], {})

    fewer = with_disks(cloud, larger)
    text = refused("vsphere-needs-power-off", lambda: updated(outs, fewer))
    assert "it must be off to change extraDisks (logs goes), extraDisks (models goes)" in text
    outs = updated(outs, {**fewer, "updatePolicy": "restart"})
    assert (sizes(cloud), outs["drifted"], outs["powerState"]) == ([15], {}, "poweredOn")
    assert len(files(cloud, "gpu-1")) == 2, "files of disks that went are gone"

    text = refused("vsphere-unsupported", lambda: updated(outs, with_disks(cloud, SCRATCH)))
    assert "extraDisks: scratch: 10 GiB is less than the present 15 GiB" in text
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert files(cloud, "gpu-1") == []


def test_a_disk_that_is_to_be_kept_outlives_its_machine(cloud: Vcenter) -> None:
    kept = {**MODELS, "keep": True}
    outs = created(with_disks(cloud, SCRATCH, kept))
    (file,) = [row["file"] for row in outs["disks"] if row["name"] == "models"]
    left: list[list[str]] = []

    def look() -> None:
        with cloud.machine("gpu-1") as machine:
            disks = of(machine, vim.vm.device.VirtualDisk)
            attached = [disk.backing.fileName for disk in disks]
        left.append([name.replace(" gpu-1/", "/gpu-1") for name in attached])
        left.append(files(cloud, "gpu-1"))

    # The simulator destroys the whole folder; vCenter what is attached. So it is looked at before.
    lost = Rule(Action.DROP_REPLY, "ReconfigVM_Task", nth=1)
    cloud.proxy.reset([lost, Rule(Action.BEFORE, "Destroy_Task", do=look)])
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cloud.owned() == []
    attached, there = left
    assert set(there) - set(attached) == {file.replace(" gpu-1/", "/gpu-1")}


def test_a_machine_that_could_not_be_made_leaves_no_disk(cloud: Vcenter) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "PowerOnMultiVM_Task", fault="InvalidState")])
    node = with_disks(cloud, SCRATCH, {**MODELS, "keep": True})
    refused("vsphere-host-state", lambda: created(node))
    assert (cloud.owned(), files(cloud, "gpu-1")) == ([], [])


def test_a_machine_that_a_killed_run_began_gets_each_disk_once(cloud: Vcenter) -> None:
    made = created(with_disks(cloud))
    node = with_disks(cloud, SCRATCH, MODELS)
    cloud.proxy.reset([Rule(Action.DROP_REPLY, "ReconfigVM_Task", nth=1)])
    outs = updated(made, node)
    assert (sizes(cloud), outs["drifted"]) == ([10, 20], {})
    assert cloud.proxy.changing["ReconfigVM_Task"] == 1, "seen, and not made twice"


def test_disks_that_somebody_changed_are_shown_and_mended(cloud: Vcenter) -> None:
    node = with_disks(cloud, SCRATCH, MODELS)
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        disks = of(machine, vim.vm.device.VirtualDisk)
        (disk,) = [item for item in disks if item.capacityInBytes == 20 << 30]
        remove = vim.vm.device.VirtualDeviceSpec(operation="remove", device=disk)
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=[remove])))
    seen = read(outs)
    assert seen["drifted"] == {"extraDisks": [{"name": "scratch", "sizeGib": 10}]}
    assert PROVIDER.diff(outs["instanceUuid"], seen, node).changes is True
    assert updated(seen, node)["drifted"] == {}
    assert sizes(cloud) == [10, 20]


def test_marks_of_another_machine_mean_nothing(cloud: Vcenter) -> None:
    """A template made from a machine has that machine's marks."""
    outs = created(with_disks(cloud, SCRATCH))
    stranger = "1000:0 00000000-0000-4000-8000-000000000000"
    with cloud.machine("gpu-1") as machine:
        mark = vim.option.OptionValue(key=f"{MARK}old", value=stranger)
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(extraConfig=[mark])))
    seen = read(outs)
    assert seen["drifted"] == {}
    cloud.proxy.reset()
    updated(seen, with_disks(cloud, SCRATCH))
    assert cloud.proxy.changing == {}
    assert sizes(cloud) == [10]


@pytest.mark.parametrize(
    ("disks", "expected"),
    [
        ([{"name": "a", "sizeGib": 0.0}], "greater than or equal to 1"),
        ([{"name": "a", "sizeGib": 63_489.0}], "less than or equal to 63488"),
        ([{"name": "a/b", "sizeGib": 1.0}], "String should match pattern"),
        ([{"name": "a%", "sizeGib": 1.0}], "String should match pattern"),
        ([{"name": f"d{n}", "sizeGib": 1.0} for n in range(15)], "at most 14 items"),
        ([{**SCRATCH, "format": "sparse"}], "Input should be 'thin', 'thick' or 'eagerZeroed'"),
    ],
)
def test_disks_that_cannot_be(cloud: Vcenter, disks: list[dict[str, Any]], expected: str) -> None:
    node = cloud.node(1, extraDisks=disks)
    (failure,) = PROVIDER.check({}, node).failures
    assert expected in failure.reason


def test_as_many_disks_as_a_controller_takes(cloud: Vcenter) -> None:
    disks = [{"name": f"d{number}", "sizeGib": 1.0} for number in range(14)]
    outs = created(with_disks(cloud, *disks))
    assert (sizes(cloud), outs["drifted"]) == ([1] * 14, {})
    with cloud.machine("gpu-1") as machine:
        units = [disk.unitNumber for disk in of(machine, vim.vm.device.VirtualDisk)]
        assert sorted(units) == [*range(7), *range(8, 16)], "unit 7 is the controller's own"


def test_a_datastore_without_room_for_all_disks(cloud: Vcenter) -> None:
    node = with_disks(cloud, {"name": "big", "sizeGib": 63_488.0})
    text = refused("vsphere-datastore-full", lambda: created(node))
    assert re.search(r"datastore LocalDS_0 has \d+ GiB free, and gpu-1 needs 69\d\d\d GiB", text)
    assert cloud.proxy.changing == {}


def test_a_template_with_two_disks_and_two_adapters(other: Made) -> None:
    cloud = other(hosts=1)
    with cloud.machine("gpu-template") as template:
        (first,) = of(template, vim.vm.device.VirtualDisk)
        (card,) = of(template, vim.vm.device.VirtualEthernetCard)
        second = vim.vm.device.VirtualDisk(
            key=-1,
            controllerKey=first.controllerKey,
            unitNumber=first.unitNumber + 1,
            capacityInKB=30 << 20,
            capacityInBytes=30 << 30,
            backing=vim.vm.device.VirtualDisk.FlatVer2BackingInfo(
                fileName="", diskMode="persistent"
            ),
        )
        more = vim.vm.device.VirtualVmxnet3(key=-2, backing=card.backing)
        kind = vim.vm.device.VirtualDeviceSpec
        spec = vim.vm.ConfigSpec(
            deviceChange=[
                kind(operation="add", fileOperation="create", device=second),
                kind(operation="add", device=more),
            ]
        )
        clusters: list[Any] = template.parent.parent.hostFolder.childEntity
        (pool,) = [item.resourcePool for item in clusters if item.name == "DC0_C0"]
        template.MarkAsVirtualMachine(pool, None)
        finished(template.ReconfigVM_Task(spec))
        template.MarkAsTemplate()
    plain = created(cloud.node(2))
    assert (plain["drifted"], len(plain["macAddresses"])) == ({}, 2), "as the template has it"
    node = on(cloud, "VM Network", extraDisks=[SCRATCH], diskGib=50.0, updatePolicy="restart")
    outs = created(node)
    assert (outs["drifted"], len(outs["macAddresses"])) == ({}, 1)
    assert sizes(cloud) == [30, 10]
    outs = updated(outs, {**node, "diskGib": 60.0, "extraDisks": []})
    assert (sizes(cloud), outs["drifted"]) == ([30], {}), "the template's own stays"
    with cloud.machine("gpu-1") as machine:
        assert sorted(d.capacityInBytes >> 30 for d in of(machine, vim.vm.device.VirtualDisk)) == [
            30,
            60,
        ]


def cards(cloud: Vcenter) -> list[tuple[str, str]]:
    """Type and network of each adapter, by place."""
    with cloud.machine("gpu-1") as machine:
        names = {item._moId: unquote(item.name) for item in machine.network}
        found = of(machine, vim.vm.device.VirtualEthernetCard)
        ordered = sorted(found, key=lambda card: (card.unitNumber, card.key))
        return [(adapter_type(card), names[on_network(card)]) for card in ordered]


@pytest.fixture
def networks(cloud: Vcenter) -> None:
    """Port groups that every host is on, one of them with a name that vCenter quotes, and one that
    none is."""
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        known = {network.name for network in datacenter.network}
        if "private" in known:
            return
        switches: list[Any] = [
            item
            for item in datacenter.networkFolder.childEntity
            if isinstance(item, vim.DistributedVirtualSwitch)
        ]
        kind: Any = vim.dvs.DistributedVirtualPortgroup.ConfigSpec
        names = ("storage", "rdma%2f50%25")
        groups = [kind(name=name, type="earlyBinding") for name in names]
        finished(switches[0].AddDVPortgroup_Task(groups))
        (cluster,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        private = vim.host.PortGroup.Specification(
            name="private", vlanId=0, vswitchName="vSwitch0", policy=vim.host.NetworkPolicy()
        )
        system: Any = cluster.host[0].configManager.networkSystem
        system.AddPortGroup(private)


def on(cloud: Vcenter, *networks: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    node = cloud.node(1, **more)
    rows = [item if isinstance(item, dict) else {"network": item} for item in networks]
    node["place"] = {**node["place"], "networks": rows}
    return node


@pytest.mark.usefixtures("networks")
def test_adapters_come_move_and_go(cloud: Vcenter) -> None:
    outs = created(on(cloud, "DC0_DVPG0", "storage", "rdma/50%", "VM Network"))
    assert [network for _, network in cards(cloud)] == [
        "DC0_DVPG0",
        "storage",
        "rdma/50%",
        "VM Network",
    ]
    assert (outs["drifted"], len(set(outs["macAddresses"]))) == ({}, 4)
    cloud.proxy.reset()
    assert read(outs) == outs
    again = on(cloud, "DC0_DVPG0", "storage", "rdma/50%", "VM Network")
    assert PROVIDER.diff("", outs, again).changes is False

    macs = outs["macAddresses"]
    moved = on(cloud, "DC0_DVPG0", "VM Network", "rdma/50%", "DC0_DVPG0")
    outs = updated(outs, moved)
    assert cloud.proxy.changing == {"ReconfigVM_Task": 1}, "one is put onto another network"
    assert sorted(network for _, network in cards(cloud)) == [
        "DC0_DVPG0",
        "DC0_DVPG0",
        "VM Network",
        "rdma/50%",
    ]
    assert (outs["drifted"], sorted(outs["macAddresses"])) == ({}, sorted(macs))

    fewer = on(cloud, "DC0_DVPG0", "VM Network")
    text = refused("vsphere-needs-power-off", lambda: updated(outs, fewer))
    assert "it must be off to change place.networks" in text
    outs = updated(outs, {**fewer, "updatePolicy": "restart"})
    assert sorted(network for _, network in cards(cloud)) == ["DC0_DVPG0", "VM Network"]
    other = on(cloud, "DC0_DVPG0", {"network": "VM Network", "adapter": "e1000e"})
    outs = updated(outs, {**other, "updatePolicy": "restart"})
    assert ("e1000e", "VM Network") in cards(cloud)
    assert outs["drifted"] == {}


@pytest.mark.usefixtures("networks")
def test_a_virtual_function_for_rdma(cloud: Vcenter) -> None:
    """It is in the machine before its first start, all memory is reserved, and later it only
    changes while the machine is off."""
    node = on(cloud, "DC0_DVPG0", {"network": "storage", "adapter": "sriov"})
    outs = created(node)
    assert cards(cloud)[1] == ("sriov", "storage")
    assert outs["drifted"] == {}
    with cloud.machine("gpu-1") as machine:
        (function,) = of(machine, vim.vm.device.VirtualSriovEthernetCard)
        assert function.sriovBacking is None
        assert function.backing.port.portgroupKey
        assert machine.config.memoryReservationLockedToMax is True
        assert machine.config.memoryAllocation.reservation == machine.config.hardware.memoryMB
    assert PROVIDER.diff("", outs, node).changes is False

    moved = on(cloud, "DC0_DVPG0", {"network": "rdma/50%", "adapter": "sriov"})
    text = refused("vsphere-needs-power-off", lambda: updated(outs, moved))
    assert "it must be off to change place.networks" in text
    outs = updated(outs, {**moved, "updatePolicy": "restart"})
    assert cards(cloud)[1] == ("sriov", "rdma/50%")
    gone = on(cloud, "DC0_DVPG0")
    outs = updated(outs, {**gone, "updatePolicy": "restart"})
    assert [network for _, network in cards(cloud)] == ["DC0_DVPG0"]
    two = {"network": "storage", "adapter": "sriov"}
    outs = updated(outs, {**on(cloud, "DC0_DVPG0", two, two), "updatePolicy": "restart"})
    assert sorted(kind for kind, _ in cards(cloud)) == ["VirtualE1000", "sriov", "sriov"]
    assert outs["drifted"] == {}


@pytest.mark.usefixtures("networks")
def test_an_adapter_that_somebody_moved_or_added(cloud: Vcenter) -> None:
    node = on(cloud, "DC0_DVPG0", "storage")
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        kind = vim.vm.device.VirtualEthernetCard
        port = {unquote(item.name): item for item in machine.parent.parent.network}["rdma/50%"]
        _, second = of(machine, kind)
        theirs = vim.vm.device.VirtualVmxnet3(key=-1, backing=second.backing)
        theirs.backing = kind.DistributedVirtualPortBackingInfo(
            port=vim.dvs.PortConnection(
                portgroupKey=port.key, switchUuid=second.backing.port.switchUuid
            )
        )
        second.backing = kind.NetworkBackingInfo(deviceName="VM Network")
        edit = vim.vm.device.VirtualDeviceSpec(operation="edit", device=second)
        add = vim.vm.device.VirtualDeviceSpec(operation="add", device=theirs)
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=[edit, add])))
    seen = read(outs)
    assert [row["network"] for row in seen["drifted"]["place.networks"]] == [
        "DC0_DVPG0",
        "VM Network",
        "rdma/50%",
    ]
    outs = updated(seen, node)
    assert outs["drifted"] == {}
    assert outs["warnings"] == ["the machine has an adapter on rdma/50% that is not declared"]
    assert [network for _, network in cards(cloud)] == ["DC0_DVPG0", "storage", "rdma/50%"]
    fewer = {**on(cloud, "DC0_DVPG0"), "updatePolicy": "restart"}
    updated(outs, fewer)
    assert [network for _, network in cards(cloud)] == ["DC0_DVPG0", "rdma/50%"], "not ours"


@pytest.mark.usefixtures("networks")
def test_a_network_that_no_host_is_on(cloud: Vcenter) -> None:
    text = refused("vsphere-gpu-capacity", lambda: created(on(cloud, "DC0_DVPG0", "private")))
    assert "DC0_C0_H0 0 (is not on 1 of the 2 networks)" in text
    assert "DC0_C0_H1 0 (is not on 1 of the 2 networks)" in text
    assert cloud.proxy.changing == {}


def test_networks_that_cannot_be(cloud: Vcenter) -> None:
    node = on(cloud, *["DC0_DVPG0"] * 11)
    (failure,) = PROVIDER.check({}, node).failures
    assert "at most 10 items" in failure.reason
    text = refused("vsphere-not-found", lambda: created(on(cloud, "DC0_DVPG0", "DC0_DVPG9")))
    assert "no network named 'DC0_DVPG9' that this user can see; near: DC0_DVPG0" in text
    assert cloud.proxy.changing == {}
