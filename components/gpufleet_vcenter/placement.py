"""Host of each new machine, the unmet requirements of the other hosts, and the claimed host slots.

All machines of one wish are equal, so the capacity of a host is a number, and filling hosts by
number is exact: no other order fits more machines.

Two concurrent creates would both see the last free GPU. Each claims its host before it clones. A
claim counts until the inventory shows the machine running. It ends when the machine runs, or has
failed, and not between a look at the inventory and the choice of a host.
"""

import sys
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyVmomi import vim

from gpufleet.spec.platforms.vsphere_policy import LatencySensitivity
from gpufleet_vcenter.drs import DrsGroup
from gpufleet_vcenter.errors import VsphereError, failed, holding
from gpufleet_vcenter.identity import LIFE
from gpufleet_vcenter.inventory import Host, Inventory, read_host, read_inventory
from gpufleet_vcenter.observed import GpuDevice, Observed, seen
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    GpuAttachment,
    NodeSettings,
    SharedProfile,
)
from gpufleet_vcenter.slots import Slots, dynamic_slots, fixed_slots, profile_slots
from gpufleet_vcenter.tasks import turns


@dataclass(frozen=True, slots=True)
class Wish:
    """Machines of one kind that want a place."""

    settings: NodeSettings
    stores: tuple[frozenset[str], ...] = ()
    """Sets of ids of datastores: of each, the host must mount one."""
    networks: frozenset[str] = frozenset()
    """Ids of networks: the host must be on all of them."""
    group: DrsGroup | None = None
    """Declared DRS group of the machines. Default: none is declared."""
    count: int = 1
    """Number of machines."""
    disk_bytes: int = 0
    """Size of the disks of one machine on its own datastore."""

    @property
    def at_most_per_host(self) -> int | None:
        """Machines of the group on one host, those that are there included. None: no limit."""
        apart = self.settings.separate_hosts == "required"
        return 1 if apart else self.settings.max_per_host

    def mhz(self, host: Host) -> int:
        """Processor time that a machine reserves on this host."""
        all_of_it = self.settings.latency_sensitivity is LatencySensitivity.HIGH
        whole = self.settings.cpus * host.core_mhz if all_of_it else 0
        return self.settings.cpu_reservation_mhz or whole

    def holding(
        self, machine: str, host: Host, name: str = "a machine that is being made"
    ) -> Observed:
        """A machine of the wish in the state in which it will run on its host.

        Args:
            machine: Its instance uuid.
            name: Its name, for errors. Default: none that could be looked up yet.
        """
        settings = self.settings
        return replace(
            seen(vim.VirtualMachine(machine), {}),
            name=name,
            power="poweredOn",
            gpus=tuple(GpuDevice(0, *device) for device in settings.devices),
            memory_locked=True,
            memory_mib=settings.memory_mib,
            cpu_reservation_mhz=self.mhz(host),
            instance_uuid=machine,
            extra_config={LIFE: settings.life},
        )


@dataclass(frozen=True, slots=True)
class MachinePlacement:
    """Hosts for machines."""

    inventory: Inventory
    wish: Wish
    hosts: tuple[str, ...]
    """Host of each placed machine, in order."""
    slots: Mapping[str, Slots]
    """Free slots of each host before this placement, by its name."""

    @property
    def complete(self) -> bool:
        """Whether every machine is placed."""
        return len(self.hosts) == self.wish.count

    def refusal(self) -> str:
        """`needs 8, 5 fit: esx1 2, esx2 3, esx3 0 (in maintenance)`."""
        rows = [
            f"{host} {row.free}" + (f" ({'; '.join(row.limits)})" if row.limits else "")
            for host, row in self.slots.items()
        ]
        listed = ", ".join(rows) or "the cluster has no host"
        return f"{self.wish.count} machines need a place, {len(self.hosts)} fit: {listed}"

    def failure(self) -> VsphereError:
        """The error that not every machine has a host; the text states what each host lacks."""
        gpu, count, hosts = self.wish.settings.gpu, self.wish.count, self.inventory.hosts
        offered, row = {profile for host in hosts for profile in host.profiles}, "gpu-capacity"
        if not any(host.gpus for host in hosts):
            row = "gpu-none"
        elif isinstance(gpu, SharedProfile) and gpu.profile not in offered:
            row = "gpu-profile"
        subject = (
            f"the hosts cannot take {count} machines like" if count > 1 else "no host can take"
        )
        settings, refusal = self.wish.settings, self.refusal()
        return failed(row, subject=subject, settings=settings, refusal=refusal)


def slots_of(host: Host, wish: Wish) -> Slots:
    """Number of machines of the wish that fit on the host, with all that it lacks."""
    settings, mhz = wish.settings, wish.mhz(host)
    gpus = _slots(host, settings.gpu)
    nics = [_slots(replace(host, gpus=host.nics), one) for one in settings.attachments[1:]]
    there = sum(held.life == settings.life for held in host.holdings)
    free = [host.free_memory_mib // settings.memory_mib, *(one.free for one in (gpus, *nics))]
    free += [host.free_cpu_mhz // mhz] if mhz else []
    free += [] if wish.at_most_per_host is None else [wish.at_most_per_host - there]
    lacking = holding(
        "host",
        host=host,
        wish=wish,
        settings=settings,
        mhz=mhz,
        there=there,
        allowed=wish.group is None or wish.group.allows(host.name),
        lacks={
            "datastores": sum(not store & host.datastores for store in wish.stores),
            "networks": len(wish.networks - host.networks),
        },
        needs={"datastores": len(wish.stores), "networks": len(wish.networks)},
        gpus=gpus.limits,
        nics=[text for one in nics for text in one.limits],
    )
    texts = tuple(row["message"] for row in lacking)
    return Slots(0 if texts else min(free), texts, gpus.certain)


def _slots(host: Host, devices: GpuAttachment) -> Slots:
    if isinstance(devices, FixedPassthrough):
        return fixed_slots(host, devices.pci_addresses)
    if isinstance(devices, DynamicPassthrough):
        return dynamic_slots(host, devices.kinds, devices.label, devices.count)
    return profile_slots(host, devices.profile, devices.count)


def place(inventory: Inventory, wish: Wish, refused: Collection[str] = ()) -> MachinePlacement:
    """Hosts for the machines of one wish, without those that have refused one: the emptiest first,
    so that a host's failure costs least.

    Ties are ordered by name: the same inventory always gives the same answer.
    """
    slots = {host.name: slots_of(host, wish) for host in inventory.hosts}
    left = {name: row.free for name, row in slots.items() if name not in refused}
    chosen: list[str] = []
    for _ in range(wish.count):
        best = min(left, key=lambda name: (-left[name], name), default=None)
        if best is None or left[best] == 0:
            break
        left[best] -= 1
        chosen.append(best)
    return MachinePlacement(inventory, wish, tuple(chosen), slots)


def places(
    inventory: Inventory, absent: Sequence[NodeSettings], common: Wish
) -> Iterator[MachinePlacement]:
    """Placements of the machines of one group, one for each kind of machine; all have common
    requirements on a host. Each placement takes earlier ones into account."""
    kinds: dict[tuple[GpuAttachment, tuple[str, ...]], list[NodeSettings]] = {}
    for settings in sorted(absent, key=most_bound_first):
        kinds.setdefault((settings.gpu, settings.place.hosts), []).append(settings)
    for alike in kinds.values():
        wish = replace(common, settings=alike[0], count=len(alike))
        placement, hosts = place(inventory, wish), inventory.by_name()
        yield placement
        if placement.complete:
            coming: dict[str, list[Observed]] = {}
            for settings, name in zip(alike, placement.hosts, strict=True):
                held = wish.holding(settings.name, hosts[name], settings.name)
                coming.setdefault(name, []).append(held)
            inventory = inventory.later(coming)


def most_bound_first(settings: NodeSettings) -> tuple[bool, int]:
    """Order in which the machines of a group get their hosts: one that can go anywhere does not
    take the place of one that cannot."""
    allowed = settings.place.hosts
    return not settings.fixed_addresses, len(allowed) or sys.maxsize


def check_still_fits(work: MachineWork, live: Observed) -> None:
    """Refuse a host that another process has used meanwhile: claims are known in one process only,
    and attached devices are known to all.

    Each process looks after it has attached its devices. Of two machines that are not complete, the
    one that was changed first has the host: the other one sees it. The machine is off, and has its
    devices.

    Raises:
        VsphereError: the host has no room for it; the text says what it lacks.
    """
    host, mine = read_host(work.session, live.host), (live.change_version, live.instance_uuid)
    others: list[Observed] = []
    claimed = 0
    for held in host.holdings:
        coming = held.is_pending and not held.is_on
        theirs = (held.change_version, held.instance_uuid)
        if held.instance_uuid == mine[1] or (coming and theirs > mine):
            continue
        others.append(replace(held, power="poweredOn") if coming else held)
        claimed += held.reserves_mib if coming else 0
    taken = replace(host, holdings=tuple(others), reserved_mib=host.reserved_mib + claimed)
    slots = slots_of(taken, Wish(work.settings))
    if slots.free < 1:
        raise failed(
            "gpu-capacity/faster", host=host, limits="; ".join(slots.limits) or "it is full"
        )


_CLAIMED: dict[str, dict[str, tuple[Host, Observed]]] = defaultdict(dict)
"""Vcenter -> instance uuid of a machine that is being made -> its host, and what it will use."""
_LOCKS: dict[str, threading.Lock] = defaultdict(threading.Lock)


def assign(works: Sequence[MachineWork], common: Wish) -> None:
    """Claim hosts for all machines that fit now, before any is made: a machine that fits on any
    host does not take the place of one that does not. The others wait in `claim`. All have one
    place, and common requirements on a host."""
    with _LOCKS[works[0].session.server_id]:
        inventory = inventory_of(works[0])
        for work in sorted(works, key=lambda work: most_bound_first(work.settings)):
            _claimed(work, inventory, replace(common, settings=work.settings, count=1), set())


def claim(work: MachineWork, wish: Wish, refused: set[str]) -> Host | None:
    """A host with room for the machine, claimed. None: every host has refused it.

    Waits while all free slots are claimed by machines that are being made, for as long as a clone
    may take, with pauses of 1 to 10 s.

    Raises:
        VsphereError: no host has room; the text states what each lacks.
    """
    settings, server = wish.settings, work.session.server_id
    doing = f"waiting for a place of {settings.name}"
    for _ in turns(settings.timeouts.clone, doing, pauses=(1.0, 10.0)):
        with _LOCKS[server]:
            assigned, _ = _CLAIMED[server].get(work.uuid, (None, None))
            if assigned is not None and assigned.name not in refused:
                return assigned
            inventory = inventory_of(work)
            host = _claimed(work, inventory, wish, refused)
        if host is not None:
            return host
        if refused and refused >= inventory.by_name().keys():
            return None
        placement = place(inventory, wish)
        if not placement.complete:
            raise placement.failure()
        if refused and refused >= {name for name, row in placement.slots.items() if row.free}:
            return None
    raise failed("gpu-capacity/claimed", settings=settings)


def inventory_of(work: MachineWork) -> Inventory:
    """The present inventory of the machine's place."""
    return read_inventory(work.session, work.place.datacenter, work.place.compute)


def _claimed(work: MachineWork, inventory: Inventory, wish: Wish, refused: set[str]) -> Host | None:
    """The host with the most free room, claimed; None: all are claimed. Claims of others count by
    their kind: a GPU that one of them will have by passthrough runs no vGPU."""
    shown = {held.instance_uuid for h in inventory.hosts for held in h.holdings if held.is_on}
    claims = _CLAIMED[work.session.server_id]
    others: dict[str, list[Observed]] = defaultdict(list)
    for uuid, (host, held) in claims.items():
        if uuid not in shown | {work.uuid}:
            others[host.name].append(held)
    for name in place(inventory.later(others), wish, refused).hosts:
        host = inventory.by_name()[name]
        claims[work.uuid] = host, wish.holding(work.uuid, host)
        return host
    return None


def release(work: MachineWork) -> None:
    """End the claim of a machine that runs, failed, or no longer exists."""
    server = work.session.server_id
    with _LOCKS[server]:
        _CLAIMED[server].pop(work.uuid, None)
