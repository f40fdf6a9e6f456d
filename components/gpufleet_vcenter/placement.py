"""Which host each new machine goes to, and which host fails which requirement.

All machines of one call are alike, so what a host can take is a number, and filling hosts by number
is exact: no order of machines fits more.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyVmomi import vim

from gpufleet.spec.platforms.vsphere_policy import LatencySensitivity
from gpufleet_vcenter.drs import DrsGroup
from gpufleet_vcenter.identity import LIFE
from gpufleet_vcenter.inventory import Host, Inventory
from gpufleet_vcenter.observed import GpuDevice, Observed, seen
from gpufleet_vcenter.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    GpuAttachment,
    NodeSettings,
)
from gpufleet_vcenter.slots import Slots, dynamic_slots, fixed_slots, profile_slots


@dataclass(frozen=True, slots=True)
class RequiredAccess:
    """Datastores and networks that machines need on their host, by id."""

    stores: tuple[frozenset[str], ...] = ()
    """Of each set, the host must mount one."""
    networks: frozenset[str] = frozenset()
    """The host must be on all of them."""


ANYWHERE = RequiredAccess()


@dataclass(frozen=True, slots=True)
class Wish:
    """Machines of one kind that want a place."""

    settings: NodeSettings
    reach: RequiredAccess = ANYWHERE
    """Datastores and networks that the host must have."""
    group: DrsGroup | None = None
    """DRS group that the machines are to be in. Default: none is declared."""
    count: int = 1
    """How many."""

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
        """A machine of the wish once it runs on the host it goes to.

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
            extra_config={LIFE: settings.life or settings.group},
        )


@dataclass(frozen=True, slots=True)
class MachinePlacement:
    """Where machines go."""

    hosts: tuple[str, ...]
    """A host for each machine that found a place, in order."""
    wanted: int
    slots: tuple[Slots, ...]
    """What each host offered before this placement."""

    @property
    def complete(self) -> bool:
        """Whether every machine found a place."""
        return len(self.hosts) == self.wanted

    def refusal(self) -> str:
        """`needs 8, 5 fit: esx1 2, esx2 3, esx3 0 (in maintenance)`."""
        rows = [
            f"{row.host} {row.free}" + (f" ({'; '.join(row.limits)})" if row.limits else "")
            for row in self.slots
        ]
        listed = ", ".join(rows) or "the cluster has no host"
        return f"{self.wanted} machines need a place, {len(self.hosts)} fit: {listed}"


def slots_of(host: Host, wish: Wish) -> Slots:
    """How many machines of the wish the host can take, with everything it lacks."""
    settings, where = wish.settings, wish.settings.place
    states = {
        "not connected": not host.connected,
        "in maintenance": host.maintenance,
        "not among the allowed hosts": where.hosts and host.name not in where.hosts,
        "denied": host.name in where.deny_hosts,
        "mandatory rules of the DRS group keep the machine away": (
            wish.group is not None and not wish.group.allows(host.name)
        ),
    }
    lacking = [text for text, holds in states.items() if holds]
    lacking += _out_of_reach(host, wish.reach)
    memory, mhz = settings.memory_mib, wish.mhz(host)
    free = host.free_memory_mib // memory
    if free < 1:
        lacking.append(
            f"{host.free_memory_mib} MiB of memory unreserved, a machine reserves {memory}"
        )
    if mhz:
        free = min(free, host.free_cpu_mhz // mhz)
        if host.free_cpu_mhz < mhz:
            lacking.append(f"{host.free_cpu_mhz} MHz unreserved, a machine reserves {mhz}")
    by_gpu, limits, certain = _slots(host, settings.gpu)
    lacking += limits
    free = min(free, by_gpu)
    for nics in settings.attachments[1:]:
        by_nic, limits, _ = _slots(replace(host, gpus=host.nics), nics)
        lacking += [f"NICs: {text}" for text in limits]
        free = min(free, by_nic)
    if wish.at_most_per_host is not None:
        group = settings.life or settings.group
        there = sum(held.group == group for held in host.holdings)
        free = min(free, wish.at_most_per_host - there)
        if there >= wish.at_most_per_host:
            lacking.append(f"has {there} machines of the group, the most per host")
    return Slots(host.name, 0 if lacking else free, tuple(lacking), certain)


def _slots(host: Host, devices: GpuAttachment) -> tuple[int, tuple[str, ...], bool]:
    if isinstance(devices, FixedPassthrough):
        return fixed_slots(host, devices.pci_addresses)
    if isinstance(devices, DynamicPassthrough):
        return dynamic_slots(host, devices.kinds, devices.label, devices.count)
    return profile_slots(host, devices.profile, devices.count)


def _out_of_reach(host: Host, reach: RequiredAccess) -> list[str]:
    stores = [store for store in reach.stores if not store & host.datastores]
    networks = reach.networks - host.networks
    found = [f"does not mount {_counted(len(stores), len(reach.stores), 'datastore')}"]
    others = [f"is not on {_counted(len(networks), len(reach.networks), 'network')}"]
    return [*(found if stores else ()), *(others if networks else ())]


def _counted(lacking: int, wanted: int, what: str) -> str:
    return f"the {what}" if wanted == 1 else f"{lacking} of the {wanted} {what}s"


def place(inventory: Inventory, wish: Wish) -> MachinePlacement:
    """Hosts for the machines of one wish: the emptiest first, so that a host's failure costs least.

    Ties go by name: the same inventory always gives the same answer.
    """
    slots = tuple(slots_of(host, wish) for host in inventory.hosts)
    left: dict[str, int] = {row.host: row.free for row in slots}
    chosen: list[str] = []
    for _ in range(wish.count):
        best = min(left, key=lambda name: (-left[name], name), default=None)
        if best is None or left[best] == 0:
            break
        left[best] -= 1
        chosen.append(best)
    return MachinePlacement(tuple(chosen), wish.count, slots)


def places(
    inventory: Inventory,
    absent: Sequence[NodeSettings],
    reach: RequiredAccess = ANYWHERE,
    group: DrsGroup | None = None,
) -> Iterator[tuple[Wish, MachinePlacement]]:
    """Where machines of one group go together: a placement for each kind of them. What has found
    its place counts for the next."""
    kinds: dict[tuple[GpuAttachment, tuple[str, ...]], list[NodeSettings]] = {}
    for settings in sorted(absent, key=most_bound_first):
        kinds.setdefault((settings.gpu, settings.place.hosts), []).append(settings)
    for alike in kinds.values():
        wish, hosts = Wish(alike[0], reach, group, len(alike)), inventory.by_name()
        placement = place(inventory, wish)
        yield wish, placement
        if placement.complete:
            coming: dict[str, list[Observed]] = {}
            for settings, name in zip(alike, placement.hosts, strict=True):
                held = wish.holding(settings.name, hosts[name], settings.name)
                coming.setdefault(name, []).append(held)
            inventory = inventory.with_holdings(coming)


def most_bound_first(settings: NodeSettings) -> tuple[bool, int]:
    """Order in which the machines of a group get their hosts: one that can go anywhere does not
    take the place of one that cannot."""
    allowed = settings.place.hosts
    return not settings.fixed_addresses, len(allowed) or sys.maxsize
