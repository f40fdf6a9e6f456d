# pyright: standard
"""Many machines at once: the engine runs four calls at a time, vCenter far more.

A batch makes the machines that are new to a group, each as its own resource would, and leaves them
marked as pending. The resources then find theirs, take over, and remove the mark. A machine that
the batch cannot make is left to its resource, which tries again and says why not: so one that fails
stops no other.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.create import create, rooms_of
from gpufleet.platforms.vsphere.vcenter.errors import VsphereError
from gpufleet.platforms.vsphere.vcenter.faults import in_words
from gpufleet.platforms.vsphere.vcenter.identity import PENDING, MachineIdentity
from gpufleet.platforms.vsphere.vcenter.inventory import PerGpu
from gpufleet.platforms.vsphere.vcenter.lookup import by_name, find_place
from gpufleet.platforms.vsphere.vcenter.owned import find_owned
from gpufleet.platforms.vsphere.vcenter.remove import remove
from gpufleet.platforms.vsphere.vcenter.rooms import Rooms
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings


@dataclass(frozen=True, slots=True)
class Member:
    """One machine of a batch."""

    settings: NodeSettings

    def identity(self, session: Session) -> MachineIdentity:
        """Whose machine it is."""
        known = self.settings
        return MachineIdentity(session.server_id, known.owner, known.generation, pending=True)


def make(
    session: Session, members: Sequence[Member], width: int, per_gpu: PerGpu
) -> Mapping[str, str]:
    """Make the machines, `width` at a time. Returns name -> failure of those that were not made.

    Safe to run again: it goes on with what an earlier run began, and leaves alone what a resource
    has taken over.
    """
    if not members:
        return {}
    first = members[0].settings
    with in_words(f"looking for the place of {first.name}"):
        rooms = rooms_of(session, find_place(session, first), per_gpu)
    return _each(members, width, lambda member: _make_one(session, member, rooms, per_gpu))


def _make_one(session: Session, member: Member, rooms: Rooms, per_gpu: PerGpu) -> None:
    settings, identity = member.settings, member.identity(session)
    with in_words(f"making {settings.name}"):
        place = find_place(session, settings)
        live = find_owned(session, place.datacenter, identity)
        if live is not None and not live.extra_config.get(PENDING):
            return
        create(session, settings, identity, per_gpu, rooms)


def clear(session: Session, members: Sequence[Member], width: int) -> Mapping[str, str]:
    """Remove those of the machines that no resource has taken over. Returns name -> failure."""
    return _each(members, width, lambda member: _clear_one(session, member))


def _clear_one(session: Session, member: Member) -> None:
    settings, identity = member.settings, member.identity(session)
    root, where = session.content.rootFolder, settings.place.datacenter
    with in_words(f"removing {settings.name}"):
        # No more than this is looked up: a template may be gone long since.
        datacenter = by_name(session, root, vim.Datacenter, where, "datacenter")
        live = find_owned(session, datacenter, identity)
        if live is not None and live.extra_config.get(PENDING):
            remove(session, settings, identity, live.bios_uuid)


def _each(members: Sequence[Member], width: int, do: Any) -> dict[str, str]:
    """Do it for each, `width` at a time, all of them whatever happens to one."""
    failures: dict[str, str] = {}

    def attempt(member: Member) -> None:
        try:
            do(member)
        except VsphereError as failure:
            failures[member.settings.name] = str(failure)

    with ThreadPoolExecutor(max(1, min(width, len(members) or 1))) as pool:
        for done in [pool.submit(attempt, member) for member in members]:
            done.result()
    return failures
