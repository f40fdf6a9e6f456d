# pyright: standard
"""Disks of a machine in addition to its template's: a mark with the slot identifies each disk.

The mark (`gpufleet.disk.<name>`) is written in the same reconfiguration that makes the disk, so a
disk never exists without its mark: after a lost answer, both or neither are found. File names and
device keys cannot identify a disk: Storage vMotion renames files, and vCenter chooses keys. A mark
also names its machine, because a template made from a machine has that machine's marks.
"""

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim

from gpufleet.spec.platforms.vsphere_devices import DiskFormat, VsphereDisk
from gpufleet_vcenter.errors import said
from gpufleet_vcenter.observed import MachineDifference, Observed
from gpufleet_vcenter.properties import ANOTHER_DISK, DISK, shrinks

MARK = "gpufleet.disk."
_VALUE = re.compile(r"(\d+):(\d+) ([0-9a-f-]{36})( keep)?")

_SCSI, _SATA, _NVME = (
    vim.vm.device.VirtualSCSIController,
    vim.vm.device.VirtualSATAController,
    vim.vm.device.VirtualNVMEController,
)
_PLACES = ((_SCSI, (*range(7), *range(8, 16))), (_SATA, range(30)), (_NVME, range(15)))
"""Units of a controller that disks can have; unit 7 of a SCSI controller is its own."""

Slot = tuple[int, int]
"""Key of a controller and unit on it."""


@dataclass(frozen=True, slots=True)
class MarkedDisk:
    """A disk that a mark tells of."""

    name: str
    slot: Slot
    keep: bool
    device: Any | None
    """None: the mark exists and the disk does not, because it was removed outside."""

    @property
    def size_gib(self) -> int:
        """Size in whole GiB; 0: the disk does not exist."""
        return disk_bytes(self.device) >> 30

    @property
    def file(self) -> str:
        """`[datastore] folder/file.vmdk`, the current path in vCenter."""
        return _file(self.device)


def disk_bytes(disk: Any | None) -> int:
    """Bytes that the guest sees; 0: no disk."""
    if disk is None:
        return 0
    return int(disk.capacityInBytes or (disk.capacityInKB or 0) * 1024)


def marked_disks(live: Observed) -> dict[str, MarkedDisk]:
    """The machine's own further disks, by name."""
    plugged = {_slot(device): device for device in live.disks}
    found: dict[str, MarkedDisk] = {}
    for key, value in sorted(live.extra_config.items()):
        read = _VALUE.fullmatch(value) if key.startswith(MARK) else None
        if read is not None and read[3] == live.instance_uuid:
            name, slot = key.removeprefix(MARK), (int(read[1]), int(read[2]))
            found[name] = MarkedDisk(name, slot, read[4] is not None, plugged.get(slot))
    return found


def plugged_disks(live: Observed) -> list[MarkedDisk]:
    """The machine's own further disks that exist."""
    return [disk for disk in marked_disks(live).values() if disk.device is not None]


def first_disk(live: Observed) -> Any | None:
    """The disk that `diskGib` refers to: the template's disk in the lowest slot."""
    ours = {disk.slot for disk in marked_disks(live).values()}
    return min((d for d in live.disks if _slot(d) not in ours), key=_slot, default=None)


def store_of(live: Observed) -> str:
    """Name of the datastore of the first disk; empty: no disk."""
    return _file(first_disk(live)).partition("]")[0].removeprefix("[")


def _file(disk: Any | None) -> str:
    return str(getattr(getattr(disk, "backing", None), "fileName", None) or "")


def disk_changes(
    found: MachineDifference,
    wanted: tuple[VsphereDisk, ...],
    live: Observed,
    stores: Mapping[str, tuple[Any, str]],
    policy: Sequence[Any] = (),
) -> None:
    """Add the changes that give the machine exactly these further disks of its own. The storage
    policy is that of disks that name no datastore. Default: the datastore's own."""
    known, first = marked_disks(live), first_disk(live)
    gone = [disk for disk in known.values() if disk.name not in {item.name for item in wanted}]
    found.refused += not_to_be_kept(live, gone)
    for disk in gone:
        take_off(found, disk)
    taken = {_slot(device) for device in live.devices if device.unitNumber is not None}
    taken |= {disk.slot for disk in known.values()}
    # On the first disk's controller; a guest finds its first disk before the others.
    controller = 0 if first is None else int(first.controllerKey or 0)
    device = next((item for item in live.devices if item.key == controller), None)
    units = next((tuple(units) for kind, units in _PLACES if isinstance(device, kind)), ())
    for disk in wanted:
        there, places = known.get(disk.name), ((controller, unit) for unit in units)
        free = (place for place in places if place not in taken)
        slot = next(free, None) if there is None else there.slot
        if slot is None:
            row = "places" if units else "no-first-disk" if first is None else "controller"
            found.refused.append(said(f"unsupported/{row}", name=disk.name, units=len(units)))
            continue
        taken.add(slot)
        if there is None or there.keep != disk.keep:
            keep = " keep" if disk.keep else ""
            found.keys[MARK + disk.name] = f"{slot[0]}:{slot[1]} {live.instance_uuid}{keep}"
        if there is None or there.device is None:
            profile = [] if disk.datastore is not None else list(policy)
            made = _made(disk, slot, stores)
            found.device("add", made, fileOperation="create", profile=profile)
        else:
            name = f"disk {disk.name}"
            grow(name, there.device, disk.size_gib, found, otherwise=ANOTHER_DISK)


def profiles(policy: str | None) -> list[Any]:
    """The storage policy with this id, as specs have it."""
    return [] if policy is None else [vim.vm.DefinedProfileSpec(profileId=policy)]


def not_to_be_kept(live: Observed, gone: Iterable[MarkedDisk]) -> list[str]:
    """Reasons why kept disks cannot be detached, a sentence for each.

    A snapshot has the disk, too: the detached part is then only the data written since, and the
    rest is deleted with the snapshot, at the latest with the machine.
    """
    return [
        said("unsupported/kept-disk", disk=disk, live=live)
        for disk in gone
        if disk.keep and disk.device is not None and live.has_snapshots
    ]


def take_off(found: MachineDifference, disk: MarkedDisk) -> None:
    """Detach the disk with its mark, and delete its file unless it is kept."""
    found.keys[MARK + disk.name] = ""
    if disk.device is not None:
        found.device("remove", disk.device, fileOperation=None if disk.keep else "destroy")
        found.off.append(f"extraDisks ({disk.name} goes)")


def disk_drift(wanted: tuple[VsphereDisk, ...], live: Observed) -> list[dict[str, Any]] | None:
    """Actual further disks, if they differ from the declaration; None: no difference."""
    has = {disk.name: disk_bytes(disk.device) for disk in plugged_disks(live)}
    if has == {disk.name: disk.size_gib << 30 for disk in wanted}:
        return None
    spelled = {"mode": "json", "by_alias": True, "exclude_defaults": True}
    told = {disk.name: disk.model_dump(**spelled) for disk in wanted}
    return [{"name": name, **told.get(name, {}), "sizeGib": has[name] >> 30} for name in has]


def _slot(device: Any) -> Slot:
    return (int(device.controllerKey or 0), int(device.unitNumber or 0))


def _made(disk: VsphereDisk, slot: Slot, stores: Mapping[str, tuple[Any, str]]) -> Any:
    backing = vim.vm.device.VirtualDisk.FlatVer2BackingInfo(
        # vCenter chooses a name that is free, in the machine's own folder.
        fileName="" if disk.datastore is None else f"[{stores[disk.datastore][1]}]",
        diskMode="persistent",
        thinProvisioned=disk.format is DiskFormat.THIN,
        eagerlyScrub=disk.format is DiskFormat.EAGER_ZEROED,
    )
    return vim.vm.device.VirtualDisk(
        controllerKey=slot[0],
        unitNumber=slot[1],
        backing=backing,
        capacityInKB=disk.size_gib << 20,
        capacityInBytes=disk.size_gib << 30,
    )


def grow(
    name: str, disk: Any, wanted_gib: int, found: MachineDifference, otherwise: str = ""
) -> None:
    """Give a disk this size, or report why this is impossible. The observed disk object stays
    unchanged, so that a lost change can be computed from it again."""
    size = wanted_gib << 30
    if size == disk_bytes(disk):
        return
    # Whole GiB that hold the disk.
    reason = shrinks(DISK, -(-disk_bytes(disk) >> 30), wanted_gib, otherwise)
    if reason is not None:
        found.refused.append(f"{name}: {reason}")
        return
    wanted = copy.copy(disk)
    wanted.capacityInKB, wanted.capacityInBytes = size >> 10, size
    found.device("edit", wanted)
