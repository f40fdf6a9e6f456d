"""Places for the machines of one group: the claimed host slots.

Two concurrent creates would both see the last free GPU. Each claims its host here before it clones.
A claim counts until the inventory shows the machine running. It ends when the machine runs, or has
failed, and not between a look at the inventory and the choice of a host.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.inventory import Host, Inventory, read_host, read_inventory
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.placement import Wish, most_bound_first, place, slots_of
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.tasks import turns


def check_still_fits(work: MachineWork, live: Observed) -> None:
    """Refuse a host that another process has used meanwhile: claims are known in one process only,
    and attached devices are known to all.

    Each process looks after it has attached its devices. Of two machines that are not complete, the
    one that was changed first has the host: the other one sees it.

    Args:
        live: The machine, off, with its devices.

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


_PAUSES = (1.0, 10.0)
"""First and longest pause in seconds before looking again when every free slot is claimed by
another create."""

_CLAIMED: dict[str, dict[str, tuple[Host, Observed]]] = defaultdict(dict)
"""Vcenter -> instance uuid of a machine that is being made -> its host, and what it will use."""
_LOCKS: dict[str, threading.Lock] = defaultdict(threading.Lock)


class Rooms:
    """Claims a host for one machine after the other."""

    def __init__(self, work: MachineWork) -> None:
        """Nothing is read yet.

        Args:
            work: One of the machines: all have its place.
        """
        self._work, self._server = work, work.session.server_id
        self.checked: Wish | None = None
        """Result of `check_before` for all machines of a group. Default: each machine calls it."""

    def read(self) -> Inventory:
        """The present inventory."""
        place = self._work.place
        return read_inventory(self._work.session, place.datacenter, place.compute)

    def assign(self, machines: Mapping[str, NodeSettings], common: Wish) -> None:
        """Claim hosts for all machines that fit now, before any is made: a machine that fits on any
        host does not take the place of one that does not. The others wait in `claim`.

        Args:
            machines: Instance uuid -> declaration.
            common: Requirements of all of them on a host.
        """
        with _LOCKS[self._server]:
            inventory = self.read()
            for machine in sorted(machines, key=lambda uuid: most_bound_first(machines[uuid])):
                wish = replace(common, settings=machines[machine], count=1)
                self._claimed(machine, inventory, wish, set())

    def claim(self, wish: Wish, machine: str, refused: set[str]) -> Host | None:
        """A host with room for the machine, claimed. None: every host has refused it.

        Waits while all free slots are claimed by machines that are being made, for as long as a
        clone may take.

        Raises:
            VsphereError: no host has room; the text states what each lacks.
        """
        settings = wish.settings
        doing = f"waiting for a place of {settings.name}"
        for _ in turns(settings.timeouts.clone, doing, pauses=_PAUSES):
            with _LOCKS[self._server]:
                assigned, _ = _CLAIMED[self._server].get(machine, (None, None))
                if assigned is not None and assigned.name not in refused:
                    return assigned
                inventory = self.read()
                host = self._claimed(machine, inventory, wish, refused)
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

    def _claimed(
        self, machine: str, inventory: Inventory, wish: Wish, refused: set[str]
    ) -> Host | None:
        """The host with the most free room, claimed; None: all are claimed. Claims of others count
        by their kind: a GPU that one of them will have by passthrough runs no vGPU."""
        shown = {held.instance_uuid for h in inventory.hosts for held in h.holdings if held.is_on}
        claims = _CLAIMED[self._server]
        others: dict[str, list[Observed]] = defaultdict(list)
        for uuid, (host, holding) in claims.items():
            if uuid not in shown | {machine}:
                others[host.name].append(holding)
        slots = place(inventory.with_holdings(others), wish).slots
        left = {name: row.free for name, row in slots.items() if name not in refused}
        best = min(left, key=lambda name: (-left[name], name), default=None)
        if best is None or left[best] < 1:
            return None
        host = inventory.by_name()[best]
        claims[machine] = host, wish.holding(machine, host)
        return host


def release(work: MachineWork) -> None:
    """End the claim of a machine that runs, failed, or no longer exists."""
    server = work.session.server_id
    with _LOCKS[server]:
        _CLAIMED[server].pop(work.uuid, None)
