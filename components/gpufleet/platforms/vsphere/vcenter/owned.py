# pyright: standard
"""The one machine that is ours: found by its uuid, believed by its marks."""

import time
from enum import Enum
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.identity import OWNER, MachineIdentity
from gpufleet.platforms.vsphere.vcenter.lookup import machines_with
from gpufleet.platforms.vsphere.vcenter.observed import Observed, observe
from gpufleet.platforms.vsphere.vcenter.reading import one, properties
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings

CLONE_STARTS = "VmBeingClonedEvent"
_POLL_SECONDS = 0.5


def identity_of(
    session: Session, settings: NodeSettings, known_uuid: str = "", *, pending: bool = False
) -> MachineIdentity:
    """Whose machine a declaration is.

    Args:
        session: Login.
        settings: What is declared.
        known_uuid: The machine's uuid, where a state has it. Default: it is computed.
        pending: Whether the machine is not complete. Default false.
    """
    return MachineIdentity(
        session.server_id, settings.owner, settings.generation, pending, settings.life, known_uuid
    )


def find_owned(
    session: Session, datacenter: Any, identity: MachineIdentity, moref: str = ""
) -> Observed | None:
    """Our machine as it is now, or None when there is none.

    Args:
        session: Login.
        datacenter: Where it is.
        identity: Whose machine it is.
        moref: Its reference as it was last seen: a machine that is not found, and has it still, is
            not gone. Default: it was never seen.

    Raises:
        VsphereError: a machine with this uuid is not ours, there are several, or it is not shown.
    """
    found = [
        live
        for machine in machines_with(session, datacenter, identity.instance_uuid)
        if (live := observe(session, machine)) is not None
    ]
    ours = [live for live in found if identity.owns(live.extra_config)]
    if len(ours) == 1 and len(found) == 1:
        return ours[0]
    if not found:
        _check_gone(session, identity, moref)
        return None
    names = ", ".join(f"{live.name} ({live.moref})" for live in found)
    if len(found) > 1:
        raise VsphereError(
            Code.AMBIGUOUS,
            f"{len(found)} machines have the instance uuid {identity.instance_uuid}: {names}",
            "give the copies another uuid, or remove them",
        )
    owner = found[0].extra_config.get(OWNER, "an unknown owner")
    raise VsphereError(
        Code.FOREIGN,
        f"{names} has the instance uuid {identity.instance_uuid} of {identity.owner}, and belongs "
        f"to {owner}",
        "remove that machine, or change its instance uuid",
    )


def _check_gone(session: Session, identity: MachineIdentity, moref: str) -> None:
    """Refuse to take a machine for gone that only the search does not show: the user may have lost
    the rights to it, or someone changed its uuid."""
    if not moref:
        return
    machine = session.object(vim.VirtualMachine, moref)
    found = one(session, machine, vim.VirtualMachine, ("name", "config.extraConfig"))
    if not found:
        return
    marks = {entry.key: str(entry.value) for entry in found.get("config.extraConfig") or ()}
    if marks and marks.get(OWNER) != identity.owner:
        return  # another machine has the reference now
    raise VsphereError(
        Code.UNREADABLE,
        f"vCenter does not find the instance uuid {identity.instance_uuid}, and {moref}, which had "
        f"it, exists as {found.get('name', 'a machine without a name')}",
        "grant the user read access to the machine, or restore its instance uuid",
    )


class Flight(Enum):
    """What became of a clone that an earlier run may have started."""

    NONE = "none"
    LANDED = "landed"
    STILL_UP = "stillUp"
    """It was not done in time: starting another to the same name would make two."""


def await_clone_of_before(session: Session, template: Any, name: str, seconds: float) -> Flight:
    """Wait for a clone to this name that an earlier, killed run may have left in flight.

    Between the call and the machine's appearance nothing can be found by uuid; vCenter's running
    tasks name only the template, and its events only the destination: both together name ours.
    """
    deadline = time.monotonic() + seconds
    flight = Flight.NONE
    while _clone_in_flight(session, template, name):
        flight = Flight.LANDED
        if time.monotonic() > deadline:
            return Flight.STILL_UP
        time.sleep(_POLL_SECONDS)
    return flight


def _clone_in_flight(session: Session, template: Any, name: str) -> bool:
    manager = session.content.taskManager
    tasks = (one(session, manager, vim.TaskManager, ("recentTask",)) or {}).get("recentTask") or []
    paths = ("info.descriptionId", "info.state", "info.entity", "info.eventChainId")
    for _, found in properties(session, list(tasks), vim.Task, paths):
        about = str(found.get("info.descriptionId", ""))
        running = str(found.get("info.state")) in ("running", "queued")
        of_template = found.get("info.entity") == template
        if running and of_template and about.startswith("VirtualMachine.clone"):
            return _clones_to(session, template, name, found.get("info.eventChainId"))
    return False


def _clones_to(session: Session, template: Any, name: str, chain: Any) -> bool:
    """Whether the template's latest clone events speak of this destination."""
    events = session.content.eventManager
    wanted = vim.event.EventFilterSpec(
        entity=vim.event.EventFilterSpec.ByEntity(
            entity=template, recursion=vim.event.EventFilterSpec.RecursionOption.self
        ),
        eventTypeId=[CLONE_STARTS],
    )
    found = session.call(lambda: events.QueryEvents(wanted))
    return any(
        event.destName == name and (chain in (None, 0) or event.chainId in (chain, event.key, 0))
        for event in found
    )
