# pyright: standard
"""Current state of a machine, read from vCenter in one call, and its differences from what it is to
be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pyVmomi import vim

from gpufleet_vcenter import identity
from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.identity import Standing
from gpufleet_vcenter.properties import PROPERTIES, MachineChangeKind
from gpufleet_vcenter.reading import one
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import Device, device_kind

NUMA_PATH = PROPERTIES["coresPerNumaNode"].read
NUMA_API = (8, 0, 0, 1)
"""First API that has it: an older one refuses to read it."""


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """One GPU of a machine, or a NIC by passthrough."""

    key: int
    """vCenter's key of the device, which only removing it needs."""
    mode: str
    """`fixed`, `dynamic` or `vgpu`."""
    what: str
    """PCI address, comma-separated device ids, or profile."""
    label: str = ""
    assigned: str = ""
    """PCI address of the device a running dynamic attachment has."""

    @property
    def backing(self) -> Device:
        """Key by which two devices are equal: mode, device and label."""
        return (self.mode, self.what, self.label)


def _read(path: str, value: Callable[[Any], Any]) -> Any:
    """A field that is a property of the machine.

    Args:
        path: Path of the property.
        value: Its value in the field; None: not set.
    """
    return field(default=None, metadata={"path": path, "value": value})


def _shown(path: str, value: Callable[[Any], Any]) -> Any:
    """The same for a declared property, whose row has vCenter's path."""
    return _read(PROPERTIES[path].read, value)


def _text(value: Any) -> str:
    return str(value or "")


def _number(value: Any) -> int:
    return int(value or 0)


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value or ())


def _version(text: Any) -> int:
    digits = str(text or "").removeprefix("vmx-")
    return int(digits) if digits.isdigit() else 0


def _keys(rows: Any) -> dict[str, str]:
    return {entry.key: str(entry.value) for entry in rows or ()}


def _custom_values(rows: Any) -> dict[int, str]:
    kind = vim.CustomFieldsManager.StringValue
    return {entry.key: str(entry.value) for entry in rows or () if isinstance(entry, kind)}


def gpu_devices(devices: Any) -> tuple[GpuDevice, ...]:
    """The GPUs and NICs by passthrough among virtual devices."""
    kinds, found = vim.vm.device.VirtualPCIPassthrough, list[GpuDevice]()
    for device in devices or ():
        backing = device.backing if isinstance(device, kinds) else None
        if isinstance(backing, kinds.VmiopBackingInfo):
            found.append(GpuDevice(device.key, "vgpu", backing.vgpu or ""))
        elif isinstance(backing, kinds.DynamicBackingInfo):
            ids = sorted(device_kind(i.vendorId, i.deviceId) for i in backing.allowedDevice)
            label, assigned = backing.customLabel or "", backing.assignedId or ""
            found.append(GpuDevice(device.key, "dynamic", ",".join(ids), label, assigned))
        elif isinstance(backing, kinds.DeviceBackingInfo):
            found.append(GpuDevice(device.key, "fixed", backing.id))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Observed:
    """One machine."""

    reference: Any
    name: str = _shown("name", _text)
    instance_uuid: str = _read("config.instanceUuid", lambda value: _text(value).lower())
    bios_uuid: str = _read("config.uuid", _text)
    change_version: str = _read("config.changeVersion", _text)
    hardware_version: int = _shown("hardwareVersion", _version)
    firmware: str = _shown("firmware", lambda value: str(value or "bios"))
    is_template: bool = _read("config.template", bool)
    extra_config: Mapping[str, str] = _shown("extraConfig", _keys)
    memory_locked: bool = _shown("memoryLocked", bool)
    memory_reservation_mib: int = _read("config.memoryAllocation.reservation", _number)
    latency_sensitivity: str = _shown("latencySensitivity", lambda value: str(value or "normal"))
    cpus: int = _shown("cpus", _number)
    memory_mib: int = _shown("memoryMib", _number)
    devices: tuple[Any, ...] = _read("config.hardware.device", _listed)
    """All virtual devices, as vCenter lists them."""
    gpus: tuple[GpuDevice, ...] = _shown("gpu", gpu_devices)
    power: str = _shown("powerState", _text)
    """`poweredOn`, `poweredOff`, `suspended`."""
    connection: str = _read("runtime.connectionState", _text)
    host: Any = _read("runtime.host", lambda value: value)  # noqa: RUF009 - a field
    folder: Any = _shown("place.folder", lambda value: value)  # noqa: RUF009 - a field
    pool: Any = _shown("place.resourcePool", lambda value: value)  # noqa: RUF009 - a field
    question: str = _read("runtime.question", lambda value: "" if value is None else value.text)
    address: str = _read("guest.ipAddress", _text)
    tools_running: bool = _read(
        "guest.toolsRunningStatus", lambda value: value == "guestToolsRunning"
    )
    datastores: tuple[Any, ...] = _read("datastore", _listed)
    guest_id: str = _shown("guestId", _text)
    annotation: str = _shown("annotation", _text)
    cores_per_socket: int = _shown("coresPerSocket", _number)
    """0: vCenter does not report it."""
    custom_values: Mapping[int, str] = _shown("customAttributes", _custom_values)
    """Key of a custom attribute -> value; vCenter's custom attributes manager has the names."""
    networks: tuple[Any, ...] = _shown("place.network", _listed)
    """Networks that its adapters are on."""
    has_snapshots: bool = _read("snapshot", lambda value: value is not None)
    cpu_reservation_mhz: int = _shown("cpuReservationMhz", _number)
    cpu_shares: str = _shown("cpuShares", _text)
    """`low`, `normal`, `high` or `custom`."""
    cores_per_numa_node: int = _read(
        NUMA_PATH,
        lambda numa: 0 if not numa or numa.autoCoresPerNumaNode else _number(numa.coresPerNumaNode),
    )
    """0: the host decides, or the vCenter is older than 8.0."""
    cpu_hot_add: bool = _read("config.cpuHotAddEnabled", bool)
    """Whether processors can be added while it runs."""
    memory_hot_add: bool = _read("config.memoryHotAddEnabled", bool)
    encrypted: bool = _read("config.keyId", lambda value: value is not None)
    """Whether it has a key: an encrypted machine, or one with a virtual TPM, whose state is
    encrypted."""
    standing: Standing = Standing.FOREIGN
    """Relation to the group whose machines were listed. Default: none were."""

    @property
    def hot_add(self) -> bool:
        """Whether processors or memory can be added while it runs."""
        return self.cpu_hot_add or self.memory_hot_add

    @property
    def is_on(self) -> bool:
        """Whether it runs."""
        return self.power == "poweredOn"

    @property
    def reserves_mib(self) -> int:
        """Memory that it reserves when it runs."""
        return self.memory_mib if self.memory_locked else self.memory_reservation_mib

    @property
    def slim(self) -> "Observed":
        """The same machine without large data, to hold many in memory: without devices other than
        GPUs and others' configuration. A dynamic device from before a power-off is not its own."""
        prefix, keys = identity.MARKS, self.extra_config
        marks = {key: value for key, value in keys.items() if key.startswith(prefix)}
        gpus = self.gpus if self.is_on else tuple(replace(gpu, assigned="") for gpu in self.gpus)
        return replace(self, devices=(), extra_config=marks, gpus=gpus)

    @property
    def owner(self) -> str:
        """Its owner by its marks; empty: not made by gpufleet."""
        return self.extra_config.get(identity.OWNER, "")

    @property
    def key(self) -> str:
        """Its key in its group."""
        return identity.key_of(self.owner)

    @property
    def generation(self) -> str:
        """Digest of the inputs that it was made for."""
        return self.extra_config.get(identity.GENERATION, "")

    @property
    def life(self) -> str:
        """Id of its group in the stack; empty: not made by gpufleet, or before 0.1.0."""
        return self.extra_config.get(identity.LIFE, "")

    @property
    def is_pending(self) -> bool:
        """Whether it is not complete."""
        return bool(self.extra_config.get(identity.PENDING))

    def standing_in(self, life: str) -> Standing:
        """Relation to the group with this id, for creation, sweeping and reports.

        vCenter copies the extra configuration with the marks, and gives a copy an instance uuid of
        its own.
        """
        if not life or self.life != life:
            return Standing.FOREIGN
        if self.instance_uuid != self.extra_config.get(identity.UUID, "").lower():
            return Standing.COPY
        return Standing.PENDING if self.is_pending else Standing.OURS

    @property
    def held(self) -> tuple[str, ...]:
        """Addresses of its passthrough devices on the host; fixed ones also while it is off."""
        on = [gpu.assigned for gpu in self.gpus if gpu.assigned and self.is_on]
        return (*(gpu.what for gpu in self.gpus if gpu.mode == "fixed"), *on)

    @property
    def waiting(self) -> tuple[GpuDevice, ...]:
        """Dynamic devices that it lacks: a powered-off machine will need them again."""
        dynamic = (gpu for gpu in self.gpus if gpu.mode == "dynamic")
        return tuple(gpu for gpu in dynamic if not (self.is_on and gpu.assigned))

    @property
    def profiles(self) -> tuple[str, ...]:
        """A name for each vGPU."""
        return tuple(gpu.what for gpu in self.gpus if gpu.mode == "vgpu")

    @property
    def moref(self) -> str:
        """`vm-42`."""
        return str(self.reference._moId)

    @property
    def disks(self) -> tuple[Any, ...]:
        """Virtual disks."""
        return tuple(item for item in self.devices if isinstance(item, vim.vm.device.VirtualDisk))

    @property
    def adapters(self) -> tuple[Any, ...]:
        """Network adapters, in the order of their places on the machine's PCI bus."""
        kind = vim.vm.device.VirtualEthernetCard
        cards = (item for item in self.devices if isinstance(item, kind))
        return tuple(sorted(cards, key=lambda card: (card.unitNumber or 0, card.key)))

    @property
    def mac_addresses(self) -> tuple[str, ...]:
        """MAC addresses of the adapters."""
        return tuple(str(card.macAddress) for card in self.adapters if card.macAddress)


_FIELDS = tuple(row for row in fields(Observed) if row.metadata)
PATHS = tuple(dict.fromkeys(str(row.metadata["path"]) for row in _FIELDS))


def paths_of(*names: str) -> tuple[str, ...]:
    """vCenter's paths of these fields."""
    return tuple(str(row.metadata["path"]) for row in _FIELDS if row.name in names)


def seen(machine: Any, found: Mapping[str, Any]) -> Observed:
    """The machine from these properties; properties that were not read count as unset."""
    read = {row.name: row.metadata["value"](found.get(row.metadata["path"])) for row in _FIELDS}
    return Observed(machine, **read)


def observe(session: Session, machine: Any) -> Observed | None:
    """Current state of the machine; None: it no longer exists.

    Raises:
        VsphereError: it exists, and vCenter cannot read its configuration: it leaves `config` out
            for a machine whose files it does not reach (API reference of VirtualMachine.config).
    """
    known = [path for path in PATHS if path != NUMA_PATH or session.api_version >= NUMA_API]
    found = one(session, machine, vim.VirtualMachine, known)
    if not found:
        return None
    if "config.instanceUuid" not in found:
        name = f"{found.get('name', 'the machine')} ({machine._moId})"
        state = found.get("runtime.connectionState", "in an unknown state")
        raise failed("unreadable-machine/configuration", name=name, state=state)
    return seen(machine, found)


def options(keys: Mapping[str, str]) -> list[Any]:
    """Keys of the extra configuration, as specs have them."""
    return [vim.option.OptionValue(key=key, value=value) for key, value in sorted(keys.items())]


@dataclass(slots=True)
class MachineDifference:
    """Differences of a live machine: parts of one reconfiguration, and impossible changes."""

    parts: dict[str, Any] = field(default_factory=dict[str, Any])
    """Attributes of its `ConfigSpec` other than devices and extra configuration."""
    devices: list[Any] = field(default_factory=list[Any])
    """Changes of devices."""
    keys: dict[str, str] = field(default_factory=dict[str, str])
    """Keys of the extra configuration that the machine needs; an empty value removes the key."""
    off: list[str] = field(default_factory=list[str])
    """Properties, with details, that change only while the machine is off."""
    refused: list[str] = field(default_factory=list[str])
    """Changes that are impossible, a sentence for each."""
    upgrade: int | None = None
    """Virtual hardware version to upgrade to first, which no reconfiguration does."""

    def device(self, operation: str, device: Any, **more: Any) -> None:
        """Add the change of a device (`add`, `edit`, `remove`). Each new one has a negative key of
        its own."""
        if operation == "add":
            device.key = -100 - len(self.devices)
        change = vim.vm.device.VirtualDeviceSpec(operation=operation, device=device, **more)
        self.devices.append(change)

    def differs(self, path: str) -> None:
        """Add a property that is changed according to its row."""
        if PROPERTIES[path].kind is MachineChangeKind.POWERED_OFF:
            self.off.append(path)
