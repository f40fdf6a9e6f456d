"""Declarations as vCenter's specs: the clone, and what still differs from a live machine."""

from dataclasses import dataclass
from typing import Any

from pyVmomi import vim

from gpufleet.nodes.vsphere.guest_data import guest_keys
from gpufleet.nodes.vsphere.identity import PENDING, Identity
from gpufleet.nodes.vsphere.lookup import FoundPlace
from gpufleet.nodes.vsphere.mmio import mmio_gib
from gpufleet.nodes.vsphere.observed import GpuDevice, Observed
from gpufleet.nodes.vsphere.read_inventory import NVIDIA
from gpufleet.nodes.vsphere.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    NodeSettings,
)

USE_MMIO = "pciPassthru.use64bitMMIO"
MMIO_SIZE = "pciPassthru.64bitMMIOSizeGB"

_Device = vim.vm.device.VirtualPCIPassthrough
_Change = vim.vm.device.VirtualDeviceSpec
_ADDED_KEY = -100
"""Keys of devices that do not exist yet are negative, each its own."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a live machine lacks."""

    spec: Any | None
    """One reconfiguration that mends it; None: nothing differs."""
    powered_off: tuple[str, ...]
    """Properties among the differences that change only while the machine is off."""
    refused: tuple[str, ...]
    """Differences that cannot be mended at all, a sentence for each."""

    @property
    def properties(self) -> bool:
        """Whether anything differs."""
        return self.spec is not None


def mmio_of(settings: NodeSettings) -> int:
    """The MMIO window of the machine in GiB."""
    return settings.mmio_gib or mmio_gib([settings.gpu_memory_gib] * settings.gpu.count)


def wanted_gpus(settings: NodeSettings) -> list[tuple[str, str, str]]:
    """Backings of the GPUs the machine is to have, as `GpuDevice.backing` spells them."""
    gpu = settings.gpu
    if isinstance(gpu, FixedPassthrough):
        return [("fixed", address, "") for address in gpu.pci_addresses]
    if isinstance(gpu, DynamicPassthrough):
        return [("dynamic", ",".join(sorted(gpu.device_ids)), gpu.label)] * gpu.count
    return [("vgpu", gpu.profile, "")] * gpu.count


def wanted_extra_config(settings: NodeSettings, identity: Identity) -> dict[str, str]:
    """Extra configuration the machine is to have, without what its guest may clear."""
    return {
        **settings.extra_config,
        **identity.marks,
        USE_MMIO: "TRUE",
        MMIO_SIZE: str(mmio_of(settings)),
    }


def clone_spec(settings: NodeSettings, identity: Identity, found: FoundPlace, host: Any) -> Any:
    """The clone: identity and marks in the very call that makes the machine."""
    return vim.vm.CloneSpec(
        location=vim.vm.RelocateSpec(pool=found.pool, host=host, datastore=found.datastore),
        powerOn=False,
        template=False,
        config=vim.vm.ConfigSpec(
            instanceUuid=identity.instance_uuid,
            numCPUs=settings.cpus,
            memoryMB=settings.memory_mib,
            # cloud-init prefers OVF data to guestinfo when a template carries any.
            vAppConfigRemoved=True,
            extraConfig=_options(wanted_extra_config(settings, identity)),
        ),
    )


def difference(
    settings: NodeSettings,
    identity: Identity,
    live: Observed,
    network: Any | None,
    devices: dict[str, Any],
    first_boot: bool,
) -> Difference:
    """What to change on a live machine.

    Args:
        settings: What is declared.
        identity: Whose machine it is.
        live: What it is now.
        network: Network its first adapter must be on; None: as the template has it.
        devices: Address -> fixed backing of the host's device; only for fixed passthrough.
        first_boot: Whether the guest has not started yet: only then is first-boot data written.
    """
    spec: Any = vim.vm.ConfigSpec()
    off: list[str] = []
    refused: list[str] = []
    changed = False
    if live.cpus != settings.cpus:
        spec.numCPUs, changed = settings.cpus, True
        off.append("cpus")
    if live.memory_mib != settings.memory_mib:
        spec.memoryMB, changed = settings.memory_mib, True
        off.append("memoryMib")
    if not live.memory_locked or live.memory_reservation_mib != settings.memory_mib:
        spec.memoryReservationLockedToMax = True
        spec.memoryAllocation = vim.ResourceAllocationInfo(reservation=settings.memory_mib)
        changed = True
    if live.latency != settings.latency_sensitivity:
        spec.latencySensitivity = vim.LatencySensitivity(level=settings.latency_sensitivity)
        changed = True
        off.append("latencySensitivity")
    keys = wanted_extra_config(settings, identity)
    if first_boot:
        keys.update(
            guest_keys(
                identity.instance_uuid,
                settings.name,
                settings.user_data,
                settings.user_data_format,
            )
        )
    if live.extra_config.get(PENDING) and not identity.pending:
        keys[PENDING] = ""  # its resource takes over
    stale = {key: value for key, value in keys.items() if live.extra_config.get(key) != value}
    if stale:
        spec.extraConfig, changed = _options(stale), True
        if set(stale) & {USE_MMIO, MMIO_SIZE}:
            off.append("mmioGib")
        if set(stale) & set(settings.extra_config):
            off.append("extraConfig")
    changes = _gpu_changes(settings, live, devices)
    if changes:
        off.append("gpu")
    changes += _disk_change(settings, live, refused)
    changes += _adapter_change(live, network)
    if changes:
        spec.deviceChange, changed = changes, True
    return Difference(spec if changed else None, tuple(off), tuple(refused))


def _options(keys: dict[str, str]) -> list[Any]:
    return [vim.option.OptionValue(key=key, value=value) for key, value in sorted(keys.items())]


def _gpu_changes(settings: NodeSettings, live: Observed, devices: dict[str, Any]) -> list[Any]:
    """Add what lacks and remove what is ours and not wanted; matched by backing, removed by key."""
    lacking = wanted_gpus(settings)
    surplus: list[GpuDevice] = []
    for gpu in live.gpus:
        if gpu.backing in lacking:
            lacking.remove(gpu.backing)
        else:
            surplus.append(gpu)
    removed = [
        _Change(operation=_Change.Operation.remove, device=_Device(key=gpu.key)) for gpu in surplus
    ]
    added = [
        _Change(
            operation=_Change.Operation.add,
            device=_Device(key=_ADDED_KEY - number, backing=_backing(settings, wish, devices)),
        )
        for number, wish in enumerate(lacking)
    ]
    return removed + added


def _backing(settings: NodeSettings, wish: tuple[str, str, str], devices: dict[str, Any]) -> Any:
    mode, what, label = wish
    if mode == "vgpu":
        return _Device.VmiopBackingInfo(vgpu=what)
    if mode == "fixed":
        return devices[what]
    gpu = settings.gpu
    ids = gpu.device_ids if isinstance(gpu, DynamicPassthrough) else ()
    return _Device.DynamicBackingInfo(
        deviceName="",
        allowedDevice=[
            _Device.AllowedDevice(vendorId=NVIDIA, deviceId=int(device_id, 16)) for device_id in ids
        ],
        customLabel=label or None,
    )


def _disk_change(settings: NodeSettings, live: Observed, refused: list[str]) -> list[Any]:
    if settings.disk_gib is None:
        return []
    wanted = settings.disk_gib << 30
    if live.disk is None:
        refused.append("diskGib is set and the machine has no disk")
        return []
    if wanted == live.disk_bytes:
        return []
    if wanted < live.disk_bytes:
        refused.append(
            f"diskGib {settings.disk_gib} is smaller than the {live.disk_bytes >> 30} GiB there "
            "are, and vCenter cannot shrink a disk"
        )
        return []
    disk = live.disk
    disk.capacityInKB = wanted >> 10
    disk.capacityInBytes = wanted
    return [_Change(operation=_Change.Operation.edit, device=disk)]


def _adapter_change(live: Observed, network: Any | None) -> list[Any]:
    if network is None or live.adapter is None:
        return []
    wanted = _network_backing(network)
    if _network_key(live.adapter.backing) == _network_key(wanted):
        return []
    live.adapter.backing = wanted
    return [_Change(operation=_Change.Operation.edit, device=live.adapter)]


def _network_backing(network: Any) -> Any:
    card = vim.vm.device.VirtualEthernetCard
    if isinstance(network, vim.dvs.DistributedVirtualPortgroup):
        switch: Any = network.config.distributedVirtualSwitch
        return card.DistributedVirtualPortBackingInfo(
            port=vim.dvs.PortConnection(portgroupKey=network.key, switchUuid=switch.uuid)
        )
    return card.NetworkBackingInfo(network=network, deviceName=network.name)


def _network_key(backing: Any) -> str:
    port = getattr(backing, "port", None)
    if port is not None:
        return f"port {port.portgroupKey}"
    return f"network {getattr(getattr(backing, 'network', None), '_moId', '')}"
