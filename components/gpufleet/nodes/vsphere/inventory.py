"""What a vCenter offers: hosts, their GPUs, and what machines already hold. Plain data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class PassthroughState(StrEnum):
    """How far a device is on its way to passthrough."""

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
    """Four hexadecimal digits."""
    name: str
    memory_mib: int
    """0: the host does not say."""
    passthrough: PassthroughState
    label: str
    graphics_type: str
    """`sharedDirect` is what vGPU needs; empty: not a graphics device of the host."""
    mixed_size: bool
    """Whether vGPUs of different sizes may share it (8.0.3)."""
    machines: tuple[str, ...]
    """Ids of the machines whose vGPUs run on it, where the host says."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What one machine holds of a host's GPUs."""

    machine: str
    """Its id, `vm-42`."""
    name: str
    powered_on: bool
    fixed: tuple[str, ...]
    """Addresses; they are taken also while it is off."""
    assigned: tuple[str, ...]
    """Addresses of dynamic devices of a running machine."""
    waiting: int
    """Dynamic devices of a machine that is off: it will want them back."""
    profiles: tuple[str, ...]
    """A name for each vGPU."""
    reserved_mib: int = 0
    """Memory of the host that it reserves."""
    instance_uuid: str = ""
    owner: str = ""
    """Whose it is, by its mark; empty: not gpufleet's."""

    @property
    def group(self) -> str:
        """Owner of the group it belongs to; empty: not gpufleet's."""
        return self.owner.rpartition("/")[0]


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
    holdings: tuple[Holding, ...]
    datastores: frozenset[str]
    """Ids of the datastores it mounts."""

    @property
    def free_memory_mib(self) -> int:
        """Memory that can still be reserved."""
        return max(0, self.memory_mib - self.reserved_mib)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hosts of one cluster."""

    hosts: tuple[Host, ...]

    def without(self, owners: frozenset[str]) -> "Inventory":
        """The same once the machines of these owners are gone."""
        hosts: list[Host] = []
        for host in self.hosts:
            gone = [holding for holding in host.holdings if holding.owner in owners]
            stays = tuple(holding for holding in host.holdings if holding not in gone)
            freed = sum(holding.reserved_mib for holding in gone)
            hosts.append(replace(host, holdings=stays, reserved_mib=host.reserved_mib - freed))
        return Inventory(tuple(hosts))

    def by_name(self) -> Mapping[str, Host]:
        """Host by name."""
        return {host.name: host for host in self.hosts}


@dataclass(frozen=True, slots=True)
class Slots:
    """How many more machines of one kind a host can take, and what stops the next one."""

    host: str
    free: int
    limits: tuple[str, ...]
    """What the host lacks, a phrase for each; empty when it has room."""
    certain: bool = True
    """False: an upper bound, because the host does not say what its vGPUs hold."""


def fixed_slots(host: Host, addresses: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Whether the host has exactly these devices free: 1 or 0, and what is lacking."""
    known = {gpu.address: gpu for gpu in host.gpus}
    taken = {address: holding.name for holding in host.holdings for address in holding.fixed} | {
        address: holding.name for holding in host.holdings for address in holding.assigned
    }
    lacking: list[str] = []
    for address in addresses:
        if address not in known:
            lacking.append(f"no device {address}")
        elif known[address].passthrough is not PassthroughState.ACTIVE:
            lacking.append(_not_active(known[address]))
        elif address in taken:
            lacking.append(f"{address} is held by {taken[address]}")
    return (0, tuple(lacking)) if lacking else (1, ())


def dynamic_slots(
    host: Host, device_ids: tuple[str, ...], label: str, count: int
) -> tuple[int, tuple[str, ...]]:
    """How many machines with `count` such devices still fit."""
    of_kind = [gpu for gpu in host.gpus if gpu.device_id in device_ids]
    if not of_kind:
        has = ", ".join(sorted({f"{gpu.name} ({gpu.device_id})" for gpu in host.gpus})) or "none"
        return 0, (f"no device {' or '.join(device_ids)}, its GPUs: {has}",)
    labelled = [gpu for gpu in of_kind if not label or gpu.label == label]
    if not labelled:
        has = ", ".join(sorted({repr(gpu.label) for gpu in of_kind}))
        return 0, (f"no device labelled {label!r}, the labels are {has}",)
    active = [gpu for gpu in labelled if gpu.passthrough is PassthroughState.ACTIVE]
    if not active:
        return 0, tuple(_not_active(gpu) for gpu in labelled)
    taken = {
        address for holding in host.holdings for address in (*holding.fixed, *holding.assigned)
    }
    waiting = sum(holding.waiting for holding in host.holdings)
    free = max(0, sum(gpu.address not in taken for gpu in active) - waiting)
    if free < count:
        holders = sorted({h.name for h in host.holdings if h.fixed or h.assigned or h.waiting})
        by = f", held by {', '.join(holders)}" if holders else ""
        return 0, (f"{free} of {len(active)} devices free and a machine needs {count}{by}",)
    return free // count, ()


PerGpu = Callable[[str], int | None]
"""Most vGPUs of a profile on one GPU, all of one size; None where no table says."""


def profile_slots(
    host: Host, profile: str, count: int, per_gpu: PerGpu
) -> tuple[int, tuple[str, ...], bool]:
    """How many machines with `count` vGPUs of the profile still fit, and whether that is certain.

    A GPU that runs vGPUs takes only the same profile unless it is in mixed-size mode, and is
    either MIG-backed or time-sliced, never both.
    """
    if profile not in host.profiles:
        offered = ", ".join(sorted(host.profiles)) or "none"
        direct = any(gpu.graphics_type == "sharedDirect" for gpu in host.gpus)
        why = "" if direct or not host.gpus else " (no GPU is in sharedDirect mode)"
        return 0, (f"profile {profile} is not offered{why}; offered: {offered}",), True
    gpus = [gpu for gpu in host.gpus if gpu.graphics_type == "sharedDirect"]
    most = per_gpu(profile)
    if most is None or not gpus:
        return max(1, len(gpus)), (), False
    used, certain = _vgpus_on(host, gpus, per_gpu)
    free = sum(
        max(0, most - len(held)) for held in used.values() if not held or set(held) == {profile}
    )
    if free < count:
        held = ", ".join(sorted({name for each in used.values() for name in each})) or "nothing"
        lacking = f"{free} x {profile} free and a machine needs {count}; its GPUs run {held}"
        return 0, (lacking,), True
    return free // count, (), certain


def _vgpus_on(
    host: Host, gpus: list[PhysicalGpu], per_gpu: PerGpu
) -> tuple[dict[str, list[str]], bool]:
    """Address -> profiles that run there. What the host does not place is laid beside its own
    kind, else on an empty GPU: the fullest packing, so what is free is an upper bound."""
    used: dict[str, list[str]] = {gpu.address: [] for gpu in gpus}
    unplaced: list[str] = []
    for holding in host.holdings:
        if not holding.powered_on:
            continue
        where = [gpu.address for gpu in gpus if holding.machine in gpu.machines]
        if where:
            for number, name in enumerate(holding.profiles):
                used[where[min(number, len(where) - 1)]].append(name)
        else:
            unplaced.extend(holding.profiles)
    for name in unplaced:
        most = per_gpu(name) or 1
        same = [a for a, held in used.items() if set(held) == {name} and len(held) < most]
        empty = [a for a, held in used.items() if not held]
        used[(same or empty or list(used))[0]].append(name)
    return used, not unplaced


def _not_active(gpu: PhysicalGpu) -> str:
    if gpu.passthrough is PassthroughState.ENABLED:
        return f"{gpu.address} is enabled for passthrough but not active: reboot the host"
    if gpu.passthrough is PassthroughState.CAPABLE:
        return f"{gpu.address} is not enabled for passthrough: toggle it and reboot the host"
    return f"{gpu.address} is not capable of passthrough"
