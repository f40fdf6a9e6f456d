"""Further disks of simulated machines: the slot of each, and the refusals."""

import dataclasses
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet.spec.platforms.vsphere_devices import VsphereDisk
from gpufleet_vcenter.disks import (
    MARK,
    disk_changes,
    first_disk,
    marked_disks,
    store_of,
)
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.observed import MachineDifference, Observed
from gpufleet_vcenter.remove import check_kept
from tests.vcenter.test_outputs import DEVICES, LIVE

DEVICE = vim.vm.device
UUID = LIVE.instance_uuid


def wanted(**given: Any) -> VsphereDisk:
    return VsphereDisk.model_validate({"name": "scratch", "sizeGib": 10, **given})


def disk(controller: int, unit: int, gib: int = 10) -> Any:
    backing = DEVICE.VirtualDisk.FlatVer2BackingInfo(fileName=f"[ds] m/{controller}-{unit}.vmdk")
    return DEVICE.VirtualDisk(
        key=2000 + controller + unit,
        controllerKey=controller,
        unitNumber=unit,
        capacityInKB=gib << 20,
        capacityInBytes=gib << 30,
        backing=backing,
    )


def live(*devices: Any, **marks: str) -> Observed:
    config = {f"{MARK}{name}": value for name, value in marks.items()}
    return dataclasses.replace(LIVE, devices=devices, extra_config=config)


def lacking(*given: Any) -> MachineDifference:
    found = MachineDifference()
    disk_changes(found, *given)
    return found


def test_a_disk_and_its_mark_come_together() -> None:
    found = lacking((wanted(keep=True, format="eagerZeroed"),), live(*DEVICES), {})
    (change,) = found.devices
    assert (change.operation, change.fileOperation) == ("add", "create")
    assert (change.device.controllerKey, change.device.unitNumber) == (1000, 1)
    assert change.device.capacityInBytes == 10 << 30
    assert change.device.backing.eagerlyScrub is True
    assert change.device.backing.thinProvisioned is False
    assert found.keys == {f"{MARK}scratch": f"1000:1 {UUID} keep"}
    assert (found.off, found.refused) == ([], [])


def test_a_datastore_by_the_name_that_vcenter_writes() -> None:
    store = (vim.Datastore("datastore-9"), "fast%2f1")
    found = lacking(
        (wanted(datastore="/DC/datastore/fast%2f1"),),
        live(*DEVICES),
        {"/DC/datastore/fast%2f1": store},
    )
    assert found.devices[0].device.backing.fileName == "[fast%2f1]"


def test_unmarked_disks_of_the_template_are_passed_over() -> None:
    """A template with two disks, and a CD drive on their controller."""
    drive = DEVICE.VirtualCdrom(key=3000, controllerKey=1000, unitNumber=2)
    machine = live(*DEVICES, disk(1000, 1, gib=40), drive)
    assert first_disk(machine) is DEVICES[1]
    (change,) = lacking((wanted(),), machine, {}).devices
    assert change.device.unitNumber == 3


def test_the_first_disk_is_found_wherever_it_stands_in_the_list() -> None:
    machine = live(disk(1000, 1), *DEVICES, scratch=f"1000:1 {UUID}")
    assert first_disk(machine) is DEVICES[1]
    assert marked_disks(machine)["scratch"].size_gib == 10
    assert marked_disks(machine)["scratch"].file == "[ds] m/1000-1.vmdk"
    assert store_of(live(disk(1000, 0))) == "ds"
    assert store_of(live()) == ""
    assert lacking((wanted(),), machine, {}).devices == []


@pytest.mark.parametrize(
    "value", ["1000:1", f"1000:1 {'0' * 8}-0000-4000-8000-{'0' * 12}", "", "x"]
)
def test_a_mark_that_is_not_ours_means_nothing(value: str) -> None:
    machine = live(*DEVICES, disk(1000, 1), scratch=value)
    found = lacking((), machine, {})
    assert (found.devices, found.keys, marked_disks(machine)) == ([], {}, {})


def test_a_mark_without_its_disk() -> None:
    machine = live(*DEVICES, scratch=f"1000:4 {UUID}")
    (change,) = lacking((wanted(),), machine, {}).devices
    assert (change.operation, change.device.unitNumber) == ("add", 4)
    gone = lacking((), machine, {})
    assert (gone.devices, gone.keys, gone.off) == ([], {f"{MARK}scratch": ""}, [])


@pytest.mark.parametrize(("keep", "file"), [("", "destroy"), (" keep", None)])
def test_a_disk_that_goes(keep: str, file: str | None) -> None:
    machine = live(*DEVICES, disk(1000, 1), scratch=f"1000:1 {UUID}{keep}")
    found = lacking((), machine, {})
    (change,) = found.devices
    assert (change.operation, change.fileOperation) == ("remove", file)
    assert (found.off, found.keys) == (["extraDisks (scratch goes)"], {f"{MARK}scratch": ""})


def test_whether_a_disk_is_kept_changes_its_mark_only() -> None:
    machine = live(*DEVICES, disk(1000, 1), scratch=f"1000:1 {UUID}")
    found = lacking((wanted(keep=True),), machine, {})
    assert (found.devices, found.keys) == ([], {f"{MARK}scratch": f"1000:1 {UUID} keep"})


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        (
            (),
            "extraDisks has scratch, but the machine has no first disk whose controller it can use",
        ),
        (
            (DEVICE.VirtualIDEController(key=200), disk(200, 0)),
            "the first disk is on a controller of another kind than SCSI, SATA or NVMe",
        ),
        (
            (DEVICE.VirtualNVMEController(key=31000), *(disk(31000, n) for n in range(15))),
            "all 15 places of the first disk's controller are taken",
        ),
    ],
)
def test_no_place_for_a_disk(devices: tuple[Any, ...], reason: str) -> None:
    found = lacking((wanted(),), live(*devices), {})
    assert found.devices == []
    assert reason in found.refused[0]


def test_a_disk_cannot_shrink() -> None:
    machine = live(*DEVICES, disk(1000, 1, gib=30), scratch=f"1000:1 {UUID}")
    (reason,) = lacking((wanted(),), machine, {}).refused
    assert reason.startswith("disk scratch: 10 GiB is less than the present 30 GiB")


def test_a_disk_that_is_to_be_kept_is_not_taken_from_its_snapshots() -> None:
    machine = live(*DEVICES, disk(1000, 1), scratch=f"1000:1 {UUID} keep")
    check_kept(machine)
    assert lacking((), machine, {}).refused == []
    machine = dataclasses.replace(machine, has_snapshots=True)
    (refused,) = lacking((), machine, {}).refused
    assert "disk scratch is to be kept" in refused
    assert lacking((wanted(keep=True),), machine, {}).refused == []
    with pytest.raises(VsphereError, match="delete the snapshots first") as problem:
        check_kept(machine)
    assert problem.value.code == "vsphere-unsupported"


@pytest.mark.parametrize("mark", ["1000:1", f"1000:1 {UUID}", f"1000:9 {UUID} keep"])
def test_snapshots_of_a_machine_without_a_disk_to_keep_are_no_obstacle(mark: str) -> None:
    machine = live(*DEVICES, disk(1000, 1), scratch=mark)
    check_kept(dataclasses.replace(machine, has_snapshots=True))
