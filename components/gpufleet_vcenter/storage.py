# pyright: standard
"""Datastores for the disks of a machine, and checks of their room and state."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim

from gpufleet_vcenter.disks import disk_bytes, first_disk
from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.lookup import FoundPlace, not_compliant
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.reading import one, properties
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings

RESERVE_PERCENT = 10
"""Room a datastore must have beyond the disks: for logs, snapshots and swap."""

_PATHS = ("name", "summary.freeSpace", "summary.accessible", "summary.maintenanceMode")


@dataclass(frozen=True, slots=True)
class DatastoreRoom:
    """A datastore, its free space, and whether it can be used."""

    reference: Any
    name: str
    free_bytes: int
    shut: str = ""
    """Why nothing new can go there; empty: it can."""

    @property
    def id(self) -> str:
        """`datastore-7`."""
        return str(self.reference._moId)


def with_reserve(size: int) -> int:
    """Bytes a datastore must have free for disks of this size."""
    return size * (100 + RESERVE_PERCENT) // 100


def sizes(settings: NodeSettings, template: Observed) -> Mapping[str | None, int]:
    """Bytes of a machine's disks on each datastore that the declaration names; None: on the
    machine's own. Thin disks count with their full size."""
    first = first_disk(template)
    own = sum(disk_bytes(disk) for disk in template.disks if disk is not first)
    size = max(disk_bytes(first), (settings.disk_gib or 0) << 30)
    found: dict[str | None, int] = {None: own + size}
    for disk in settings.extra_disks:
        found[disk.datastore] = found.get(disk.datastore, 0) + (disk.size_gib << 30)
    return found


def check_storage(work: MachineWork, template: Observed, count: int) -> tuple[frozenset[str], ...]:
    """Refuse datastores without room for the disks of `count` machines.

    Returns sets of ids: of each, a host must mount one.

    Raises:
        VsphereError: a datastore has not enough room, or cannot be used now.
    """
    session, settings, found = work.session, work.settings, work.place
    needed = sizes(settings, template)
    reach: list[frozenset[str]] = []
    own = found.datastore or next(iter(template.datastores), None)
    if found.pod is not None:
        rooms = members(session, found)
        check_rooms(settings, needed[None], rooms, count, of_cluster=True)
        fitting = [room for room in rooms if not room.shut]
        reach.append(frozenset(r.id for r in fitting if r.free_bytes >= with_reserve(needed[None])))
        own = None
    wanted: dict[Any, int] = {} if own is None else {own: needed[None]}
    for name, (store, _) in sorted(found.disk_stores.items()):
        wanted[store] = wanted.get(store, 0) + needed[name]
    for store, size in wanted.items():
        rooms = datastore_rooms(session, [store], found.policy if store == own else None)
        check_rooms(settings, size, rooms, count)
        reach.append(frozenset(room.id for room in rooms))
    return tuple(dict.fromkeys(reach))


def check_rooms(
    settings: NodeSettings,
    size: int,
    rooms: Sequence[DatastoreRoom],
    count: int = 1,
    *,
    of_cluster: bool = False,
) -> None:
    """Refuse datastores without room for `count` machines, each completely on one of them, and a
    single one that cannot be used now. All memory is reserved, so no swap file is counted.

    Args:
        size: Bytes of the disks of one machine there.
        rooms: One datastore, or those of the declared datastore cluster (`of_cluster`).
    """
    each = with_reserve(size)
    if not of_cluster and rooms[0].shut:
        raise failed("datastore-state", store=rooms[0])
    fit = sum(room.free_bytes // each for room in rooms if not room.shut) if each else count
    if fit >= count:
        return
    facts: dict[str, Any] = {"settings": settings, "count": count, "rooms": _listed(rooms)}
    if of_cluster:
        raise failed("datastore-full/cluster", fit=fit, gib=-(-each >> 30), **facts)
    row = "datastore-full" if count == 1 else "datastore-full/several"
    facts |= {"store": rooms[0], "free": rooms[0].free_bytes >> 30}
    raise failed(row, gib=-(-each * count >> 30), **facts)


def members(session: Session, found: FoundPlace) -> list[DatastoreRoom]:
    """The datastores of the declared datastore cluster, by name."""
    known = one(session, found.pod, vim.StoragePod, ("childEntity",)) or {}
    rooms = datastore_rooms(session, list(known.get("childEntity") or ()), found.policy)
    return sorted(rooms, key=lambda room: room.name)


def datastore_rooms(
    session: Session, stores: Sequence[Any], policy: str | None = None
) -> list[DatastoreRoom]:
    """Free space of each datastore, and whether it complies with the storage policy of this id.
    Default: no policy. A datastore that no longer exists is left out."""
    wrong = not_compliant(session, policy, stores) if policy is not None and stores else {}
    rooms: list[DatastoreRoom] = []
    for store, known in properties(session, stores, vim.Datastore, _PATHS):
        why = wrong.get(str(store._moId), "")
        shut = why and f"does not comply with the storage policy: {why}"
        if not known.get("summary.accessible", True):
            shut = "is not accessible"
        elif str(known.get("summary.maintenanceMode") or "normal") != "normal":  # or on the way
            shut = shut or "is in maintenance mode"
        if "name" in known:
            free = int(known.get("summary.freeSpace") or 0)
            rooms.append(DatastoreRoom(store, str(known["name"]), free, shut))
    return rooms


_TAKEN: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
"""Vcenter and datastore -> instance uuid of each machine of this process that is being made there,
and the bytes it will take: vCenter shows them only once the disks are written."""
_LOCK = threading.Lock()


@contextmanager
def chosen_store(
    work: MachineWork, rooms: Sequence[DatastoreRoom], mounted: frozenset[str], size: int
) -> Iterator[Any]:
    """The datastore with most room among those that the host mounts (by their ids), reserved for
    disks of this size in bytes while the machine is made.

    Raises:
        VsphereError: no datastore has room; the text states the room of each.
    """
    settings, server, machine = work.settings, work.session.server_id, work.uuid
    with _LOCK:
        left = {
            room.id: room.free_bytes - sum(_TAKEN[server, room.id].values())
            for room in rooms
            if not room.shut and room.id in mounted
        }
        fitting = [room for room in rooms if left.get(room.id, -1) >= with_reserve(size)]
        if not fitting:
            gib, listed = -(-with_reserve(size) >> 30), _listed(rooms)
            raise failed("datastore-full/members", settings=settings, gib=gib, rooms=listed)
        best = min(fitting, key=lambda room: (-left[room.id], room.name))
        _TAKEN[server, best.id][machine] = with_reserve(size)
    try:
        yield best.reference
    finally:
        with _LOCK:
            _TAKEN[server, best.id].pop(machine, None)


def _listed(rooms: Sequence[DatastoreRoom]) -> str:
    return (
        ", ".join(f"{room.name} {room.shut or f'{room.free_bytes >> 30} GiB'}" for room in rooms)
        or "it has no datastore"
    )
