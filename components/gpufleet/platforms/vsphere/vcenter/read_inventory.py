# pyright: standard
"""The hosts of a cluster and what machines hold of them, read in few calls."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.identity import OWNER, PENDING
from gpufleet.platforms.vsphere.vcenter.inventory import (
    Host,
    Inventory,
    MachineHolding,
    PassthroughState,
    PhysicalGpu,
)
from gpufleet.platforms.vsphere.vcenter.observed import GpuDevice, extra_config_of, gpu_devices
from gpufleet.platforms.vsphere.vcenter.reading import children, properties
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import MELLANOX, NVIDIA, device_kind

_HOST_PATHS = (
    "name",
    "hardware.memorySize",
    "hardware.cpuInfo.hz",
    "hardware.cpuInfo.numCpuCores",
    "hardware.pciDevice",
    "config.pciPassthruInfo",
    "config.graphicsInfo",
    "config.sharedPassthruGpuTypes",
    "runtime.connectionState",
    "runtime.inMaintenanceMode",
    "datastore",
    "network",
)
_MACHINE_PATHS = (
    "name",
    "runtime.host",
    "runtime.powerState",
    "config.instanceUuid",
    "config.template",
    "config.hardware.memoryMB",
    "config.memoryReservationLockedToMax",
    "config.memoryAllocation.reservation",
    "config.cpuAllocation.reservation",
    "config.changeVersion",
)
_DEVICES = ("config.hardware.device", "config.extraConfig")


def read_inventory(session: Session, datacenter: Any, compute: Any) -> Inventory:
    """What the hosts of one cluster have and what is taken.

    Machines are read for the whole datacenter: a host may run machines of folders the cluster's
    own machines are not in. Devices are the bulk of what a machine has, and are read only of those
    that reserve memory: without a reservation of it all, none starts with a GPU.
    """
    hosts = children(session, compute, vim.HostSystem, _HOST_PATHS)
    machines = children(session, datacenter, vim.VirtualMachine, _MACHINE_PATHS)
    return _inventory(session, hosts, machines)


def read_host(session: Session, host: Any) -> Host:
    """One host, and what is taken of it."""
    hosts = list(properties(session, [host], vim.HostSystem, (*_HOST_PATHS, "vm")))
    (_, found) = hosts[0]
    there = list(found.get("vm") or ())
    machines = list(properties(session, there, vim.VirtualMachine, _MACHINE_PATHS))
    return _inventory(session, hosts, machines).hosts[0]


def _inventory(
    session: Session, hosts: Sequence[tuple[Any, Any]], machines: Sequence[tuple[Any, Any]]
) -> Inventory:
    held: dict[str, list[MachineHolding]] = defaultdict(list)
    reserved: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    reserving: dict[Any, Any] = {}
    for machine, found in machines:
        host = found.get("runtime.host")
        if host is None or found.get("config.template"):
            continue
        if _powered_on(found):
            mib, mhz = reserved[str(host._moId)]
            reserved[str(host._moId)] = (mib + _reservation(found), mhz + _mhz(found))
        if _reservation(found):
            reserving[machine] = found
    for machine, devices in properties(session, list(reserving), vim.VirtualMachine, _DEVICES):
        found = reserving[machine]
        holding = _holding(machine, {**found, **devices}, _powered_on(found))
        if holding is not None:
            held[str(found["runtime.host"]._moId)].append(holding)
    return Inventory(
        tuple(
            sorted(
                (
                    _host(item, found, tuple(held[item._moId]), reserved[item._moId])
                    for item, found in hosts
                ),
                key=lambda host: host.name,
            )
        )
    )


def _powered_on(found: Any) -> bool:
    return str(found.get("runtime.powerState")) == "poweredOn"


def _reservation(found: Any) -> int:
    if found.get("config.memoryReservationLockedToMax"):
        return int(found.get("config.hardware.memoryMB") or 0)
    return int(found.get("config.memoryAllocation.reservation") or 0)


def _mhz(found: Any) -> int:
    return int(found.get("config.cpuAllocation.reservation") or 0)


def _holding(machine: Any, found: Any, powered_on: bool) -> MachineHolding | None:
    devices = gpu_devices(found.get("config.hardware.device"))
    if not devices:
        return None
    dynamic = [gpu for gpu in devices if gpu.mode == "dynamic"]
    assigned = tuple(gpu.assigned for gpu in dynamic if powered_on and gpu.assigned)
    waiting = [gpu for gpu in dynamic if not (powered_on and gpu.assigned)]
    marks = extra_config_of(found)
    return MachineHolding(
        str(machine._moId),
        str(found.get("name", "")),
        powered_on,
        _what(devices, "fixed"),
        assigned,
        len(waiting),
        _what(devices, "vgpu"),
        _reservation(found) if powered_on else 0,
        str(found.get("config.instanceUuid") or "").lower(),
        marks.get(OWNER, ""),
        tuple((tuple(gpu.what.split(",")), gpu.label) for gpu in waiting),
        bool(marks.get(PENDING)),
        str(found.get("config.changeVersion") or ""),
        _reservation(found),
        _mhz(found) if powered_on else 0,
    )


def _what(devices: Sequence[GpuDevice], mode: str) -> tuple[str, ...]:
    return tuple(gpu.what for gpu in devices if gpu.mode == mode)


def _host(
    item: Any, found: Any, holdings: tuple[MachineHolding, ...], reserved: tuple[int, int]
) -> Host:
    core_mhz = int(found.get("hardware.cpuInfo.hz") or 0) // 1_000_000
    passthrough = {entry.id: entry for entry in found.get("config.pciPassthruInfo") or []}
    graphics = {entry.pciId: entry for entry in found.get("config.graphicsInfo") or []}
    gpus, nics = (
        tuple(
            _gpu(device, passthrough.get(device.id), graphics.get(device.id))
            for device in found.get("hardware.pciDevice") or []
            # NVIDIA's bridges and audio functions have no subsystem of their own.
            if device.vendorId & 0xFFFF == vendor and device.subDeviceId & 0xFFFF
        )
        for vendor in (NVIDIA, MELLANOX)
    )
    return Host(
        str(item._moId),
        str(found["name"]),
        str(found.get("runtime.connectionState")) == "connected",
        bool(found.get("runtime.inMaintenanceMode")),
        int(found.get("hardware.memorySize") or 0) >> 20,
        reserved[0],
        gpus,
        tuple(found.get("config.sharedPassthruGpuTypes") or ()),
        holdings,
        frozenset(str(store._moId) for store in found.get("datastore") or ()),
        frozenset(str(network._moId) for network in found.get("network") or ()),
        core_mhz,
        core_mhz * int(found.get("hardware.cpuInfo.numCpuCores") or 0),
        reserved[1],
        nics,
    )


def _gpu(device: Any, passthrough: Any | None, graphics: Any | None) -> PhysicalGpu:
    return PhysicalGpu(
        str(device.id),
        device_kind(device.vendorId, device.deviceId),
        str(device.deviceName),
        0 if graphics is None else int(graphics.memorySizeInKB) >> 10,
        _state(passthrough),
        "" if passthrough is None else str(passthrough.hardwareLabel or ""),
        "" if graphics is None else str(graphics.graphicsType),
        graphics is not None and getattr(graphics, "vgpuMode", None) == "mixedSize",
        () if graphics is None else tuple(str(machine._moId) for machine in graphics.vm or ()),
    )


def _state(passthrough: Any | None) -> PassthroughState:
    if passthrough is None or not passthrough.passthruCapable:
        return PassthroughState.NONE
    if passthrough.passthruActive:
        return PassthroughState.ACTIVE
    if passthrough.passthruEnabled:
        return PassthroughState.ENABLED
    return PassthroughState.CAPABLE
