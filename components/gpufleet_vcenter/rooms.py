"""Places for the machines of one group: a shared inventory, and the claimed host slots.

Two concurrent creates would both see the last free GPU. Each claims its host here before it clones,
and reports when its machine runs. A claim counts against an inventory that was read before that
report, unless the inventory already shows the machine running: so an old inventory can be used, and
a newer one is trusted.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.inventory import Host, Inventory, read_host
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.placement import Wish, most_bound_first, place, slots_of
from gpufleet_vcenter.settings import NodeSettings


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


_PAUSE = 1.0
"""Seconds before looking again when every free slot is claimed by another create."""
_LONGEST_PAUSE = 10.0


class Rooms:
    """Reads the inventory if needed, and claims a host for one machine after the other.

    An old inventory does no harm: later claims are known. It is read again when it shows no room,
    because machines may have been removed.
    """

    def __init__(self, read: Callable[[], Inventory], server: str) -> None:
        """Nothing is read yet.

        Args:
            read: Reads the inventory.
            server: Id of the vCenter.
        """
        self._read, self._server = read, server
        self._lock = threading.Lock()
        self._known: tuple[Inventory, float] | None = None
        self.checked: Wish | None = None
        """Result of `check_before` for all machines of a group. Default: each machine calls it."""

    def host(self, name: str) -> Host:
        """The host of this name.

        Raises:
            VsphereError: the host no longer exists.
        """
        (inventory, _), _ = self._inventory(None)
        found = inventory.by_name().get(name)
        if found is None:
            raise failed("not-found/host", name=name)
        return found

    def assign(self, machines: Mapping[str, NodeSettings], common: Wish) -> None:
        """Claim hosts for all machines that fit now, before any is made: a machine that fits on any
        host does not take the place of one that does not. The others wait in `claim`.

        Args:
            machines: Instance uuid -> declaration.
            common: Requirements of all of them on a host.
        """
        (inventory, read_at), _ = self._inventory(None)
        for machine in sorted(machines, key=lambda uuid: most_bound_first(machines[uuid])):
            wish = replace(common, settings=machines[machine], count=1)
            self._claimed(machine, inventory, read_at, wish, set())

    def claim(self, wish: Wish, machine: str, refused: set[str]) -> str | None:
        """A host with room for the machine, claimed. None: every host has refused it.

        Waits while all free slots are claimed by machines that are being made, for as long as a
        clone may take.

        Raises:
            VsphereError: no host has room; the text states what each lacks.
        """
        assigned = _CLAIMED.get((self._server, machine))
        if assigned is not None and assigned.runs_since is None and assigned.host not in refused:
            return assigned.host
        settings, pause = wish.settings, _PAUSE
        deadline = time.monotonic() + settings.timeouts.clone
        (inventory, read_at), fresh = self._inventory(None)
        while True:
            name = self._claimed(machine, inventory, read_at, wish, refused)
            if name is not None:
                return name
            if refused and refused >= {host.name for host in inventory.hosts}:
                return None
            if fresh:
                placement = place(inventory, wish)
                if not placement.complete:
                    raise placement.failure()
                if refused and refused >= {n for n, row in placement.slots.items() if row.free}:
                    return None
                if time.monotonic() >= deadline:
                    raise failed("gpu-capacity/claimed", settings=settings)
                if CANCELLED.wait(pause):
                    doing = f"waiting for a place of {settings.name}"
                    raise failed("interrupted", doing=doing)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
            (inventory, read_at), fresh = self._inventory(inventory)

    def _inventory(self, known: Inventory | None) -> tuple[tuple[Inventory, float], bool]:
        """An inventory other than `known` with the time when reading it began, and whether that was
        just now."""
        with self._lock:
            if self._known is None or self._known[0] is known:
                began = time.monotonic()
                self._known = (self._read(), began)
                return self._known, True
            return self._known, False

    def _claimed(
        self, machine: str, inventory: Inventory, read_at: float, wish: Wish, refused: set[str]
    ) -> str | None:
        """The host with the most free room, claimed; None: all are claimed. Claims of others count
        by their kind: a GPU that one of them will have by passthrough runs no vGPU.

        Args:
            read_at: `time.monotonic()` when reading the inventory began.
        """
        with _LOCK:
            hosts = inventory.hosts
            shown = {held.instance_uuid for host in hosts for held in host.holdings if held.is_on}
            claimed: dict[str, tuple[Observed, ...]] = {}
            for (of, uuid), other in _CLAIMED.items():
                counts = other.runs_since is None or other.runs_since > read_at
                if of == self._server and counts and uuid not in shown | {machine}:
                    claimed[other.host] = (*claimed.get(other.host, ()), other.holding)
            slots = place(inventory.with_holdings(claimed), wish).slots
            left = {name: row.free for name, row in slots.items() if name not in refused}
            best = min(left, key=lambda name: (-left[name], name), default=None)
            if best is None or left[best] < 1:
                return None
            holding = wish.holding(machine, inventory.by_name()[best])
            _CLAIMED[self._server, machine] = Claim(best, holding)
            return best


@dataclass(frozen=True, slots=True)
class Claim:
    """Resources of a host that a machine will use while it is being made."""

    host: str
    holding: Observed
    runs_since: float | None = None
    """`time.monotonic()` when the machine was first seen running. Default: not yet."""


_CLAIMED: dict[tuple[str, str], Claim] = {}
"""Claims by vCenter and instance uuid of the machine."""
_LOCK = threading.Lock()


def runs(work: MachineWork) -> None:
    """The machine that claimed a slot runs: an inventory read from now on shows it."""
    key = (work.session.server_id, work.uuid)
    with _LOCK:
        if key in _CLAIMED:
            _CLAIMED[key] = replace(_CLAIMED[key], runs_since=time.monotonic())


def release(work: MachineWork) -> None:
    """Release the claim of a machine that failed or no longer exists."""
    with _LOCK:
        _CLAIMED.pop((work.session.server_id, work.uuid), None)
