"""Which host each new machine goes to, and which host fails which requirement.

All machines of one call are alike, so what a host can take is a number, and filling hosts by number
is exact: no order of machines fits more.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from gpufleet.spec.platforms.vsphere import VsphereNics
from gpufleet_vcenter.inventory import Host, Inventory, MachineHolding
from gpufleet_vcenter.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    GpuAttachment,
    NodeSettings,
    SharedProfile,
    nic_attachment,
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

    gpu: GpuAttachment
    memory_mib: int
    count: int
    """How many."""
    allowed: tuple[str, ...] = ()
    """Hosts that may be used; empty: all."""
    denied: tuple[str, ...] = ()
    reach: RequiredAccess = ANYWHERE
    """Datastores and networks that the host must have."""
    at_most_per_host: int | None = None
    """Anti-affinity: machines of `group` on one host, those that are there included. None: no
    limit."""
    group: str = ""
    """The group the machines belong to, as `MachineHolding.group` names it."""
    may_run_on: Callable[[str], bool] = lambda _: True
    """Whether the rules of the machines' DRS group leave a host, by name. Default: all."""
    cpu_mhz: int = 0
    """Processor time that each reserves."""
    whole_cpus: int = 0
    """Processors whose whole time each reserves, in place of `cpu_mhz`."""
    nics: VsphereNics | None = None
    """NICs by passthrough."""

    @property
    def devices(self) -> tuple[GpuAttachment, ...]:
        """GPUs, then NICs."""
        return (self.gpu, *(() if self.nics is None else (nic_attachment(self.nics),)))

    def mhz(self, host: Host) -> int:
        """Processor time that a machine reserves on this host."""
        return self.cpu_mhz or self.whole_cpus * host.core_mhz

    def holding(
        self, machine: str, host: Host, name: str = "a machine that is being made"
    ) -> MachineHolding:
        """What a machine of the wish will hold of the host it goes to.

        Args:
            machine: Its instance uuid.
            host: The host.
            name: Its name, for errors. Default: none that could be looked up yet.
        """
        gpu = self.gpu
        fixed = [one for one in self.devices if isinstance(one, FixedPassthrough)]
        dynamic = [one for one in self.devices if isinstance(one, DynamicPassthrough)]
        return MachineHolding(
            machine=machine,
            name=name,
            powered_on=True,
            fixed=tuple(address for one in fixed for address in one.pci_addresses),
            assigned=(),
            waiting=sum(one.count for one in dynamic),
            profiles=(gpu.profile,) * gpu.count if isinstance(gpu, SharedProfile) else (),
            reserved_mib=self.memory_mib,
            reserved_mhz=self.mhz(host),
            instance_uuid=machine,
            group=self.group,
            waiting_for=tuple((one.kinds, one.label) for one in dynamic for _ in range(one.count)),
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
    lacking: list[str] = []
    if not host.connected:
        lacking.append("not connected")
    if host.maintenance:
        lacking.append("in maintenance")
    if wish.allowed and host.name not in wish.allowed:
        lacking.append("not among the allowed hosts")
    if host.name in wish.denied:
        lacking.append("denied")
    if not wish.may_run_on(host.name):
        lacking.append("mandatory rules of the DRS group keep the machine away")
    lacking += _out_of_reach(host, wish.reach)
    by_memory = host.free_memory_mib // wish.memory_mib
    if by_memory < 1:
        lacking.append(
            f"{host.free_memory_mib} MiB of memory unreserved, a machine reserves {wish.memory_mib}"
        )
    mhz = wish.mhz(host)
    by_cpu = host.free_cpu_mhz // mhz if mhz else by_memory
    if mhz and by_cpu < 1:
        lacking.append(f"{host.free_cpu_mhz} MHz unreserved, a machine reserves {mhz}")
    by_gpu, limits, certain = _slots(host, wish.gpu)
    lacking += limits
    free = min(by_memory, by_cpu, by_gpu)
    for nics in wish.devices[1:]:
        by_nic, limits, _ = _slots(replace(host, gpus=host.nics), nics)
        lacking += [f"NICs: {text}" for text in limits]
        free = min(free, by_nic)
    if wish.at_most_per_host is not None:
        there = sum(bool(wish.group) and held.group == wish.group for held in host.holdings)
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


def most_bound_first(settings: NodeSettings) -> tuple[bool, int]:
    """Order in which the machines of a group get their hosts: one that can go anywhere does not
    take the place of one that cannot."""
    allowed = settings.place.hosts
    return not settings.fixed_addresses, len(allowed) or sys.maxsize
