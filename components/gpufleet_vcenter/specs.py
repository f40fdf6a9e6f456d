# pyright: standard
"""Declarations as vCenter's specs: the clone, and what still differs from a live machine."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_snake
from pyVmomi import vim

from gpufleet_vcenter.adapters import adapter_changes, unmatched
from gpufleet_vcenter.changes import DeviceChanges, older_hardware
from gpufleet_vcenter.disks import disk_changes, first_disk, grow, profiles
from gpufleet_vcenter.guest_data import guest_keys
from gpufleet_vcenter.identity import PENDING
from gpufleet_vcenter.lookup import former_networks
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.properties import PROPERTIES, MachineChangeKind, plain_differences
from gpufleet_vcenter.settings import NVIDIA, Device, NodeSettings

USE_MMIO = "pciPassthru.use64bitMMIO"
MMIO_SIZE = "pciPassthru.64bitMMIOSizeGB"
DISK_UUID = "disk.EnableUUID"
"""Shows disks with their ids to the guest, as the vSphere CSI driver needs them (kubernetes-sigs/
vsphere-csi-driver, driver deployment, prerequisites); cluster-api-provider-vsphere sets it
too."""

_Device = vim.vm.device.VirtualPCIPassthrough
_Change = vim.vm.device.VirtualDeviceSpec
_ADDED_KEY = -100
"""Keys of devices that do not exist yet are negative, each its own."""


@dataclass(frozen=True, slots=True)
class MachineDifference:
    """What a live machine lacks."""

    spec: Any | None
    """One reconfiguration that fixes it; None: nothing differs."""
    powered_off: tuple[str, ...]
    """Properties among the differences that change only while the machine is off."""
    refused: tuple[str, ...]
    """Differences that cannot be fixed at all, a sentence for each."""
    upgrade: int | None = None
    """Virtual hardware version to upgrade to first, which no reconfiguration does."""

    @property
    def properties(self) -> bool:
        """Whether anything differs."""
        return self.spec is not None or self.upgrade is not None


def _cpu_allocation(settings: NodeSettings, live: Observed, least_mhz: int) -> Any | None:
    """Reservation and shares of processor time, both: whether one alone leaves the other is not
    documented. None: they are what is declared."""
    declared = settings.cpu_reservation_mhz
    mhz = max(least_mhz, live.cpu_reservation_mhz if declared is None else declared)
    level = str(settings.cpu_shares or live.cpu_shares)
    if (mhz, level) == (live.cpu_reservation_mhz, live.cpu_shares):
        return None
    # A level decides, whatever the number; a number of someone's own is left alone.
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
    return settings.mmio_gib or mmio_gib([settings.gpu_memory_gib] * len(settings.gpu.devices))


def wanted_extra_config(work: MachineWork) -> dict[str, str]:
    """Extra configuration the machine is to have, without what its guest may clear."""
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
            extraConfig=_options(wanted_extra_config(work)),
        ),
    )


def difference(
    work: MachineWork,
    live: Observed,
    devices: dict[str, Any],
    first_boot: bool,
    before: NodeSettings | None,
    cpu_mhz: int,
) -> MachineDifference:
    """What to change on a live machine.

    Args:
        live: What it is now.
        devices: Address -> fixed backing of the host's device; only for fixed passthrough.
        first_boot: Whether the guest has not started yet: only then is first-boot data written.
        before: What was declared before. After the first boot this and nothing else is removed;
            anything else that a machine has beyond its declaration is someone's who added it.
        cpu_mhz: Processor time that must be reserved.
    """
    settings, found = work.settings, work.place
    parts: dict[str, Any] = {}  # of the spec
    paths: list[str] = []  # of what differs
    refused: list[str] = []
    if first_boot and live.name != settings.name:
        parts["name"] = settings.name  # it was cloned next to the one that it replaces
    for path in plain_differences(settings, live):
        if attribute := PROPERTIES[path].plain:
            parts |= _written(attribute, getattr(settings, to_snake(path)))
            paths.append(path)
    if first_boot and live.hot_add:
        # With hot add the guest sees one NUMA node (VMware KB 2040375).
        parts |= {"cpuHotAddEnabled": False, "memoryHotAddEnabled": False}
    if not live.memory_locked or live.memory_reservation_mib != settings.memory_mib:
        parts["memoryReservationLockedToMax"] = True
        parts["memoryAllocation"] = vim.ResourceAllocationInfo(reservation=settings.memory_mib)
    cpu = _cpu_allocation(settings, live, cpu_mhz)
    parts |= {} if cpu is None else {"cpuAllocation": cpu}
    keys = wanted_extra_config(work)
    if first_boot:
        keys.setdefault(DISK_UUID, "TRUE")
        keys |= guest_keys(
            work.uuid,
            settings.name,
            settings.user_data,
            settings.user_data_format,
            settings.meta_data,
            settings.vendor_data,
            settings.addresses,
            live.mac_addresses,
        )
    if live.extra_config.get(PENDING) and not work.pending:
        keys[PENDING] = ""  # its resource takes over
    declared = (settings,) if before is None else (settings, before)
    own = None if first_boot else [gpu for one in declared for gpu in one.devices]
    former = None if first_boot else _former_networks(work, before)
    all_told = bool(settings.place.networks)
    kinds = (
        _gpu_changes(settings, live, devices, own),
        _disk_change(settings, live),
        disk_changes(settings.extra_disks, live, found.disk_stores, profiles(found.policy)),
        adapter_changes(found.adapters, live, former, all_told=all_told),
    )
    for kind in kinds:
        keys |= kind.marks
    stale = {key: value for key, value in keys.items() if live.extra_config.get(key, "") != value}
    if stale:
        parts["extraConfig"] = _options(stale)
        paths += ["mmioGib"] if set(stale) & {USE_MMIO, MMIO_SIZE} else []
        paths += ["extraConfig"] if set(stale) & set(settings.extra_config) else []
    changes = [change for kind in kinds for change in kind.changes]
    parts |= {"deviceChange": changes} if changes else {}
    upgrade = _upgrade(settings, live, refused)
    paths += [] if upgrade is None else ["hardwareVersion"]
    off = [path for path in paths if PROPERTIES[path].kind is MachineChangeKind.POWERED_OFF]
    off += [reason for kind in kinds for reason in kind.off]
    refused += [reason for kind in kinds for reason in kind.refused]
    spec = vim.vm.ConfigSpec(**parts) if parts else None
    return MachineDifference(spec, tuple(off), tuple(refused), upgrade)


def _former_networks(work: MachineWork, before: NodeSettings | None) -> Sequence[str | None]:
    """Ids of the networks of the adapters that were declared."""
    former = () if before is None else tuple(network for network, _ in before.place.adapters)
    if former == tuple(network for network, _ in work.settings.place.adapters):
        found = (wish.network for wish in work.place.adapters)
        return tuple(None if network is None else network.id for network in found)
    return former_networks(work.session, work.datacenter, former)


def _upgrade(settings: NodeSettings, live: Observed, refused: list[str]) -> int | None:
    wanted = settings.hardware_version
    if wanted is None or wanted == live.hardware_version:
        return None
    reason = older_hardware(live.hardware_version, wanted)
    refused += [] if reason is None else [f"hardwareVersion: {reason}"]
    return wanted if reason is None else None


def _options(keys: dict[str, str]) -> list[Any]:
    return [vim.option.OptionValue(key=key, value=value) for key, value in sorted(keys.items())]


def _gpu_changes(
    settings: NodeSettings,
    live: Observed,
    devices: dict[str, Any],
    own: Collection[Device] | None,
) -> DeviceChanges:
    """Add what lacks and remove what is ours (None: all) and not wanted; matched by backing,
    removed by key."""
    lacking, free = unmatched(settings.devices, live.gpus, lambda gpu, wish: gpu.backing == wish)
    surplus = [gpu for gpu in free if own is None or gpu.backing in own]
    removed = [
        _Change(operation=_Change.Operation.remove, device=_Device(key=gpu.key)) for gpu in surplus
    ]
    added = [
        _Change(
            operation=_Change.Operation.add,
            device=_Device(key=_ADDED_KEY - number, backing=_backing(wish, devices)),
        )
        for number, wish in enumerate(lacking)
    ]
    return DeviceChanges(removed + added, ["gpu"] if removed or added else [])


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


def _disk_change(settings: NodeSettings, live: Observed) -> DeviceChanges:
    found, disk = DeviceChanges(), first_disk(live)
    if settings.disk_gib is not None and disk is None:
        found.refused.append("diskGib is set and the machine has no disk")
    elif settings.disk_gib is not None:
        grow("diskGib", disk, settings.disk_gib, found)
    return found


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
    total = sum(_power_at_least(size) for size in frame_buffers_gib)
    return 1 << total.bit_length()


def _power_at_least(value: int) -> int:
    return 1 << (value - 1).bit_length()
