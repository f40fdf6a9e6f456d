# pyright: standard
"""Inventory of a vCenter: hosts, their GPUs, and their use by machines; read in few calls."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pyVmomi import vim

from gpufleet.catalogue import load
from gpufleet.partition.vgpu import most_per_gpu
from gpufleet_vcenter.observed import Observed, paths_of, seen
from gpufleet_vcenter.reading import children, properties
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import MELLANOX, NVIDIA, device_kind


class PassthroughState(StrEnum):
    """Passthrough state of a device."""

    NONE = "none"
    CAPABLE = "capable"
    ENABLED = "enabled"
    """Configured; the host must reboot."""
    ACTIVE = "active"
    """The only state a machine can use."""


@dataclass(frozen=True, slots=True)
class PhysicalGpu:
    """One GPU of a host."""

    address: str
    """`0000:3b:00.0`"""
    device_id: str
    """Device id as in `device_kind`: four hexadecimal digits for a GPU."""
    name: str
    memory_mib: int
    """0: the host does not report it."""
    passthrough: PassthroughState
    label: str
    graphics_type: str
    """vGPU needs `sharedDirect`; empty: not a graphics device of the host."""
    machines: tuple[str, ...]
    """Ids of the machines whose vGPUs run on it, if the host reports them."""


@dataclass(frozen=True, slots=True)
class Host:
    """One ESXi host."""

    id: str
    name: str
    connected: bool
    maintenance: bool
    memory_mib: int
    reserved_mib: int
    """Memory reserved by machines that run."""
    gpus: tuple[PhysicalGpu, ...]
    profiles: tuple[str, ...]
    """vGPU profiles the host offers."""
    holdings: tuple[Observed, ...]
    """Its machines with GPUs, with their GPU devices."""
    datastores: frozenset[str]
    """Ids of the datastores it mounts."""
    networks: frozenset[str] = frozenset()
    """Ids of the networks it is on."""
    core_mhz: int = 0
    cpu_mhz: int = 0
    """Processor frequency of all its cores together, in MHz."""
    reserved_mhz: int = 0
    """Processor time reserved by machines that run."""
    nics: tuple[PhysicalGpu, ...] = ()
    """NICs that machines may have by passthrough: devices of the same description."""

    @property
    def free_cpu_mhz(self) -> int:
        """Processor time that can still be reserved."""
        return max(0, self.cpu_mhz - self.reserved_mhz)

    def later(self, coming: Sequence[Observed] = (), gone: Collection[str] = ()) -> "Host":
        """The same once these machines run on it, in place of their entries as powered-off ones,
        and those with these instance uuids are gone."""
        leave = {*gone, *(one.instance_uuid for one in coming)}
        left = [held for held in self.holdings if held.instance_uuid not in leave]
        ended = [held for held in self.holdings if held.instance_uuid in leave and held.is_on]
        mib = sum(one.reserves_mib for one in coming) - sum(one.reserves_mib for one in ended)
        mhz = sum(one.cpu_reservation_mhz for one in coming)
        mhz += self.reserved_mhz - sum(one.cpu_reservation_mhz for one in ended)
        reserved = {"reserved_mib": self.reserved_mib + mib, "reserved_mhz": mhz}
        return replace(self, holdings=(*left, *coming), **reserved)

    @property
    def free_memory_mib(self) -> int:
        """Memory that can still be reserved."""
        return max(0, self.memory_mib - self.reserved_mib)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hosts of one cluster."""

    hosts: tuple[Host, ...]

    def later(
        self, coming: Mapping[str, Sequence[Observed]], gone: Collection[str] = ()
    ) -> "Inventory":
        """The same once these machines run, by name of their host, and others are gone."""
        return Inventory(tuple(one.later(coming.get(one.name, ()), gone) for one in self.hosts))

    def by_name(self) -> Mapping[str, Host]:
        """Host by name."""
        return {host.name: host for host in self.hosts}


CATALOGUE = "2026.11"
"""Edition whose vGPU tables have the maximum per GPU; the hosts report the existing profiles."""


def per_gpu(profile: str) -> int | None:
    """Maximum number of vGPUs of a profile on one GPU, all of one size; None: in no table."""
    return most_per_gpu(load(CATALOGUE).gpus.values(), profile)


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
_MACHINE_PATHS = paths_of(
    *("name", "host", "power", "instance_uuid", "is_template", "memory_mib", "memory_locked"),
    *("memory_reservation_mib", "cpu_reservation_mhz", "change_version"),
)
_DEVICES = paths_of("devices", "extra_config")


def read_inventory(session: Session, datacenter: Any, compute: Any) -> Inventory:
    """Capacity of the hosts of one cluster, and its use.

    Machines are read for the whole datacenter: a host may run machines of other folders. Devices
    are most of a machine's data, and are read only for machines that reserve memory: without a
    reservation of all memory, no machine starts with a GPU.
    """
    hosts = children(session, compute, vim.HostSystem, _HOST_PATHS)
    machines = children(session, datacenter, vim.VirtualMachine, _MACHINE_PATHS)
    return _inventory(session, hosts, machines)


def read_host(session: Session, host: Any) -> Host:
    """One host and its use."""
    hosts = list(properties(session, [host], vim.HostSystem, (*_HOST_PATHS, "vm")))
    (_, found) = hosts[0]
    there = list(found.get("vm") or ())
    machines = list(properties(session, there, vim.VirtualMachine, _MACHINE_PATHS))
    return _inventory(session, hosts, machines).hosts[0]


def _inventory(
    session: Session, hosts: Sequence[tuple[Any, Any]], machines: Sequence[tuple[Any, Any]]
) -> Inventory:
    held: dict[str, list[Observed]] = defaultdict(list)
    reserved: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    reserving: dict[Any, Any] = {}
    for machine, found in machines:
        live = seen(machine, found)
        if live.host is None or live.is_template:
            continue
        if live.is_on:
            mib, mhz = reserved[live.host._moId]
            more = live.reserves_mib, live.cpu_reservation_mhz
            reserved[live.host._moId] = (mib + more[0], mhz + more[1])
        if live.reserves_mib:
            reserving[machine] = found
    for machine, devices in properties(session, list(reserving), vim.VirtualMachine, _DEVICES):
        live = seen(machine, {**reserving[machine], **devices})
        if live.gpus:
            held[live.host._moId].append(live.slim)
    found = (_host(one, about, tuple(held[one._moId]), reserved[one._moId]) for one, about in hosts)
    return Inventory(tuple(sorted(found, key=lambda host: host.name)))


def _host(item: Any, found: Any, holdings: tuple[Observed, ...], reserved: tuple[int, int]) -> Host:
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
        () if graphics is None else tuple(str(machine._moId) for machine in graphics.vm or ()),
    )


def _state(of: Any | None) -> PassthroughState:
    if of is None or not of.passthruCapable:
        return PassthroughState.NONE
    idle = PassthroughState.ENABLED if of.passthruEnabled else PassthroughState.CAPABLE
    return PassthroughState.ACTIVE if of.passthruActive else idle
