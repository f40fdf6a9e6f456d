# pyright: standard
"""Declarations as vCenter's specs: the clone, and the differences of a live machine."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic.alias_generators import to_snake
from pyVmomi import vim

from gpufleet.spec.platforms.vsphere_policy import LatencySensitivity
from gpufleet_vcenter.adapters import adapter_changes, unmatched
from gpufleet_vcenter.disks import disk_changes, first_disk, grow, profiles
from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.guest_data import guest_keys
from gpufleet_vcenter.identity import PENDING
from gpufleet_vcenter.lookup import former_networks
from gpufleet_vcenter.observed import MachineDifference, Observed, options
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.properties import (
    HARDWARE,
    PROPERTIES,
    plain_differences,
    shrinks,
)
from gpufleet_vcenter.reading import one
from gpufleet_vcenter.settings import NVIDIA, Device, NodeSettings, devices_of

USE_MMIO = "pciPassthru.use64bitMMIO"
MMIO_SIZE = "pciPassthru.64bitMMIOSizeGB"
DISK_UUID = "disk.EnableUUID"
"""Shows disks with their ids to the guest, as the vSphere CSI driver needs them (kubernetes-sigs/
vsphere-csi-driver, driver deployment, prerequisites); cluster-api-provider-vsphere sets it
too."""

_Device = vim.vm.device.VirtualPCIPassthrough


def _cpu_allocation(work: MachineWork, live: Observed) -> Any | None:
    """Reservation and shares of processor time, both: it is not documented whether one alone keeps
    the other. None: both are as declared.

    With high latency sensitivity all processor time must be reserved, else ESXi does not start the
    machine ("Invalid CPU reservation for the latency-sensitive VM, (sched.cpu.min) should be at
    least ...", RedHatOfficial/ocp4-vsphere-upi-automation#36; vSphere 8.0 Resource Management).
    """
    settings, least_mhz = work.settings, 0
    if settings.latency_sensitivity is LatencySensitivity.HIGH and live.host is not None:
        known = one(work.session, live.host, vim.HostSystem, ("hardware.cpuInfo.hz",)) or {}
        least_mhz = settings.cpus * int(known.get("hardware.cpuInfo.hz") or 0) // 1_000_000
    declared = settings.cpu_reservation_mhz
    mhz = max(least_mhz, live.cpu_reservation_mhz if declared is None else declared)
    level = str(settings.cpu_shares or live.cpu_shares)
    if (mhz, level) == (live.cpu_reservation_mhz, live.cpu_shares):
        return None
    # The level decides, not the number; a custom number stays.
    shares = vim.SharesInfo(level=level, shares=0) if level not in ("", "custom") else None
    return vim.ResourceAllocationInfo(reservation=mhz, shares=shares)


_PARTS = {"virtualNuma": vim.vm.VirtualNuma, "latencySensitivity": vim.LatencySensitivity}
"""Attributes of a `ConfigSpec` that are objects of one value."""


def _written(where: str, value: Any) -> dict[str, Any]:
    part, _, name = where.partition(".")
    value = value if isinstance(value, int) else str(value)
    return {part: _PARTS[part](**{name: value}) if name else value}


def mmio_of(settings: NodeSettings) -> int:
    """The MMIO window of the machine in GiB."""
    return settings.mmio_gib or mmio_gib([settings.gpu_memory_gib] * len(devices_of(settings.gpu)))


def wanted_extra_config(work: MachineWork) -> dict[str, str]:
    """Declared extra configuration, without keys that the guest may clear."""
    return {
        **work.settings.extra_config,
        **work.marks,
        USE_MMIO: "TRUE",
        MMIO_SIZE: str(mmio_of(work.settings)),
    }


def clone_spec(work: MachineWork, host: Any, datastore: Any | None) -> Any:
    """The clone: identity and marks in the very call that makes the machine."""
    settings, found = work.settings, work.place
    return vim.vm.CloneSpec(
        location=vim.vm.RelocateSpec(
            pool=found.pool, host=host, datastore=datastore, profile=profiles(found.policy)
        ),
        powerOn=False,
        template=False,
        config=vim.vm.ConfigSpec(
            instanceUuid=work.uuid,
            numCPUs=settings.cpus,
            memoryMB=settings.memory_mib,
            # cloud-init prefers OVF data to guestinfo when a template carries any.
            vAppConfigRemoved=True,
            extraConfig=options(wanted_extra_config(work)),
        ),
    )


def difference(
    work: MachineWork, live: Observed, first_boot: bool, before: NodeSettings | None
) -> MachineDifference:
    """Changes of an existing machine.

    Args:
        live: Its current state.
        first_boot: Whether the guest has not started yet: only then is first-boot data written.
        before: The previous declaration. After the first boot only its parts are removed; all other
            undeclared parts of a machine were added outside and stay.
    """
    settings, place, found = work.settings, work.place, MachineDifference()
    parts, keys = found.parts, found.keys
    if first_boot and live.name != settings.name:
        parts["name"] = settings.name  # it was cloned next to the machine that it replaces
    for path in plain_differences(settings, live):
        if attribute := PROPERTIES[path].written:
            parts |= _written(attribute, getattr(settings, to_snake(path)))
            found.differs(path)
    if first_boot and live.hot_add:
        # With hot add the guest sees one NUMA node (VMware KB 2040375).
        parts |= {"cpuHotAddEnabled": False, "memoryHotAddEnabled": False}
    if not live.memory_locked or live.memory_reservation_mib != settings.memory_mib:
        parts["memoryReservationLockedToMax"] = True
        parts["memoryAllocation"] = vim.ResourceAllocationInfo(reservation=settings.memory_mib)
    cpu = _cpu_allocation(work, live)
    parts |= {} if cpu is None else {"cpuAllocation": cpu}
    keys |= wanted_extra_config(work)
    if first_boot:
        keys.setdefault(DISK_UUID, "TRUE")
        keys |= guest_keys(work.uuid, settings, live.mac_addresses)
    if live.is_pending and not work.pending:
        keys[PENDING] = ""  # its resource takes over
    for path, own in (("mmioGib", {USE_MMIO, MMIO_SIZE}), ("extraConfig", settings.extra_config)):
        if any(live.extra_config.get(key, "") != keys[key] for key in own):
            found.differs(path)
    wanted = settings.hardware_version
    if wanted not in (None, live.hardware_version):
        if reason := shrinks(HARDWARE, live.hardware_version, wanted):
            found.refused.append(f"hardwareVersion: {reason}")
        else:
            found.upgrade = wanted
            found.differs("hardwareVersion")
    declared = (settings,) if before is None else (settings, before)
    ours = None if first_boot else [gpu for one in declared for gpu in one.devices]
    _gpu_changes(found, work, live, ours)
    if settings.disk_gib is not None and (disk := first_disk(live)) is not None:
        grow("diskGib", disk, settings.disk_gib, found)
    elif settings.disk_gib is not None:
        found.refused.append("diskGib is set and the machine has no disk")
    disk_changes(found, settings.extra_disks, live, place.disk_stores, profiles(place.policy))
    former = () if before is None else before.place.adapters
    networks = None if first_boot else former_networks(work.session, work.place.datacenter, former)
    all_told = bool(settings.place.networks)
    adapter_changes(found, place.adapters, live, networks, all_told=all_told)
    stale = {key: value for key, value in keys.items() if live.extra_config.get(key, "") != value}
    parts |= {"extraConfig": options(stale)} if stale else {}
    parts |= {"deviceChange": found.devices} if found.devices else {}
    return found


def _gpu_changes(
    found: MachineDifference, work: MachineWork, live: Observed, own: Collection[Device] | None
) -> None:
    """Add missing devices and remove undeclared ones of ours (None: all); matched by backing,
    removed by key."""
    wanted, devices = work.settings.devices, _fixed_backings(work, live.host)
    lacking, free = unmatched(wanted, live.gpus, lambda gpu, wish: gpu.backing == wish)
    surplus = [gpu for gpu in free if own is None or gpu.backing in own]
    for gpu in surplus:
        found.device("remove", _Device(key=gpu.key))
    for wish in lacking:
        found.device("add", _Device(backing=_backing(wish, devices)))
    found.off += ["gpu"] if surplus or lacking else []


def _fixed_backings(work: MachineWork, host: Any) -> dict[str, Any]:
    """Address -> backing of the host's device, for fixed passthrough; else nothing is read."""
    addresses, compute = work.settings.fixed_addresses, work.place.compute
    if not addresses:
        return {}
    known = work.session.call(
        lambda: compute.environmentBrowser.QueryConfigTarget(host)
    ).pciPassthrough
    offered: Mapping[str, Any] = {entry.pciDevice.id: entry for entry in known}
    absent = [address for address in addresses if address not in offered]
    if absent:
        where = getattr(host, "_moId", "the host")
        raise failed("gpu-none/no-device", host=where, absent=absent, offered=sorted(offered))
    kind = vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo
    return {
        address: kind(
            id=address,
            deviceId=f"{offered[address].pciDevice.deviceId & 0xFFFF:04x}",
            systemId=offered[address].systemId,
            vendorId=offered[address].pciDevice.vendorId,
            deviceName=offered[address].pciDevice.deviceName,
        )
        for address in addresses
    }


def _backing(wish: Device, devices: dict[str, Any]) -> Any:
    mode, what, label = wish
    if mode == "vgpu":
        return _Device.VmiopBackingInfo(vgpu=what)
    if mode == "fixed":
        return devices[what]
    kinds = (kind.rpartition(":") for kind in what.split(","))
    return _Device.DynamicBackingInfo(
        deviceName="",
        allowedDevice=[
            _Device.AllowedDevice(
                vendorId=int(vendor, 16) if vendor else NVIDIA, deviceId=int(device, 16)
            )
            for vendor, _, device in kinds
        ],
        customLabel=label or None,
    )


def mmio_gib(frame_buffers_gib: Sequence[int]) -> int:
    """GiB for `pciPassthru.64bitMMIOSizeGB`: a power of two, more than the sum of the GPUs' BARs.

    Each BAR is the smallest power of two that holds the physical GPU's memory; for vGPU the
    physical GPU counts, not the profile. Agrees with NVIDIA's table for single GPUs (24 GB -> 64,
    40 and 48 -> 128, 80 to 96 -> 256, 141 -> 512) and VMware's examples with several (NVIDIA AI
    Enterprise vGPU requirements and VMware's notes on large memory-mapped GPUs, read 2026-11-21).

    Args:
        frame_buffers_gib: Memory of each physical GPU in GB as sold, at least one.
    """
    if not frame_buffers_gib or min(frame_buffers_gib) < 1:
        raise ValueError(f"frame buffers must be at least 1 GB each, found {frame_buffers_gib}")
    total = sum(1 << (size - 1).bit_length() for size in frame_buffers_gib)
    return 1 << total.bit_length()
