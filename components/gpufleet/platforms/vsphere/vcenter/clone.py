"""The clone call: one machine, even when the answer is lost, late, or the name is taken."""

import time
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet.platforms.vsphere.vcenter.errors import Code, OutcomeUnknownError, VsphereError
from gpufleet.platforms.vsphere.vcenter.faults import translated
from gpufleet.platforms.vsphere.vcenter.identity import MachineIdentity
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.owned import Flight, await_clone_of_before, find_owned
from gpufleet.platforms.vsphere.vcenter.preflight import check_name
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.specs import clone_spec
from gpufleet.platforms.vsphere.vcenter.tasks import TaskTimeoutError, run, timed_out

_ATTEMPTS = 3


def clone(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    found: FoundPlace,
    host: Any,
) -> Observed:
    """Clone the template to the host. Returns our machine, off.

    Raises:
        VsphereError: it was not cloned, or not in time; the text says what exists.
    """
    spec = clone_spec(settings, identity, found, host)
    doing = f"cloning {settings.name} from {settings.place.template}"
    for _ in range(_ATTEMPTS):
        live = _attempt(session, settings, identity, found, spec, doing)
        if live is not None:
            return live
    raise VsphereError(
        Code.CONNECTION,
        f"{doing}: the connection broke, or vCenter was restarted, before it was done",
        "run again",
    )


def _attempt(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    found: FoundPlace,
    spec: Any,
    doing: str,
) -> Observed | None:
    """The clone; None: the answer was lost, and vCenter has neither the machine nor a task that
    makes it. Then a second call is safe: names in a folder are unique, so vCenter refuses it where
    the first one arrives late."""
    try:
        run(
            session,
            lambda: found.template.CloneVM_Task(found.folder, settings.name, spec),
            settings.timeouts.clone,
        )
    except OutcomeUnknownError:
        return _after_lost_answer(session, settings, identity, found)
    except TaskTimeoutError as problem:
        raise clone_timed_out(session, settings, identity, found, problem) from None
    except vim.fault.DuplicateName:
        live = find_owned(session, found.datacenter, identity)
        if live is not None:
            return live
        check_name(session, found, settings, identity.instance_uuid)
        raise VsphereError(
            Code.NAME_TAKEN,
            f"{doing} failed: the name is taken by an object this user cannot see",
            "rename the machine, or grant the user read access to its folder",
        ) from None
    except vmodl.MethodFault as fault:
        raise translated(fault, doing) from None
    live = find_owned(session, found.datacenter, identity)
    if live is None:
        raise VsphereError(
            Code.CONFLICT,
            f"{doing} succeeded, but no machine has the instance uuid {identity.instance_uuid}: "
            "vCenter assigned another uuid, or someone removed the machine",
            "look for the machine by its name and remove it, then run again",
        )
    return live


def _after_lost_answer(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    found: FoundPlace,
) -> Observed | None:
    """The answer to the clone call was lost: it was carried out, is under way, or never arrived."""
    deadline = time.monotonic() + settings.timeouts.clone
    while time.monotonic() < deadline:
        live = find_owned(session, found.datacenter, identity)
        if live is not None:
            return live
        flight = await_clone_of_before(session, found.template, settings.name, 30)
        if flight is Flight.NONE:
            break
    return find_owned(session, found.datacenter, identity)


def clone_timed_out(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    found: FoundPlace,
    problem: TaskTimeoutError,
) -> VsphereError:
    """Say what a clone that took too long has left. It is not cancelled: the next run adopts it."""
    live = find_owned(session, found.datacenter, identity)
    exists = (
        "the clone task continues in vCenter, and the next run adopts the machine; its instance "
        f"uuid will be {identity.instance_uuid}"
        if live is None
        else kept(live)
    )
    return timed_out(f"cloning {settings.name}", problem, "clone", exists)


def kept(live: Observed) -> str:
    """What a failed create leaves, and what becomes of it."""
    return (
        f"{live.name} ({live.moref}, instance uuid {live.instance_uuid}) was kept: the next "
        "`pulumi up` continues with it, and `pulumi destroy` removes it"
    )
