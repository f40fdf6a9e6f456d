"""Making a machine, or going on with one that an earlier run began."""

import time
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet.nodes.vsphere.converge import converge
from gpufleet.nodes.vsphere.errors import Code, OutcomeUnknownError, VsphereError
from gpufleet.nodes.vsphere.faults import translated
from gpufleet.nodes.vsphere.identity import Identity
from gpufleet.nodes.vsphere.inventory import PerGpu
from gpufleet.nodes.vsphere.lookup import FoundPlace, find_place
from gpufleet.nodes.vsphere.observed import Observed, observe
from gpufleet.nodes.vsphere.owned import Flight, await_clone_of_before, find_owned
from gpufleet.nodes.vsphere.power import power_on, until
from gpufleet.nodes.vsphere.preflight import (
    check_api,
    check_datastore,
    check_name,
    check_template,
    choose_hosts,
    datastore_room,
)
from gpufleet.nodes.vsphere.read_inventory import read_inventory
from gpufleet.nodes.vsphere.reading import children
from gpufleet.nodes.vsphere.remove import destroy
from gpufleet.nodes.vsphere.reservations import claimed
from gpufleet.nodes.vsphere.session import Session
from gpufleet.nodes.vsphere.settings import NodeSettings
from gpufleet.nodes.vsphere.specs import clone_spec
from gpufleet.nodes.vsphere.tasks import TaskTimeoutError, run, timed_out

_CLAIM_SECONDS = 2.0
"""Pause before looking again when every free slot is claimed by another create."""
_CLAIM_ATTEMPTS = 30


def create(
    session: Session, settings: NodeSettings, identity: Identity, per_gpu: PerGpu
) -> tuple[Observed, bool]:
    """The machine, powered on. Returns it and whether it existed before.

    Can be run again after being killed anywhere: it finds its own half-made machine by uuid, waits
    for its own clone in flight, and does what is left.

    Raises:
        VsphereError: it cannot be made. What was made in this call is removed again, or the text
            says what was left.
    """
    found = find_place(session, settings.place)
    live = find_owned(session, found.datacenter, identity)
    if live is None:
        seconds = settings.timeouts.clone
        flight = await_clone_of_before(session, found.template, settings.name, seconds)
        if flight is Flight.STILL_UP:
            raise _timed_out(session, settings, identity, found, TaskTimeoutError(seconds, None))
        if flight is Flight.LANDED:
            live = find_owned(session, found.datacenter, identity)
    if live is not None:
        return _finish(session, settings, identity, found, live), True
    return _make(session, settings, identity, found, per_gpu), False


def _make(
    session: Session,
    settings: NodeSettings,
    identity: Identity,
    found: FoundPlace,
    per_gpu: PerGpu,
) -> Observed:
    """Clone and finish, on one host after the other until one can."""
    check_api(session, settings)
    template = observe(session, found.template)
    if template is None:
        raise VsphereError(Code.NOT_FOUND, f"template {settings.place.template} is gone")
    check_template(settings, template)
    check_name(session, found, settings, identity.instance_uuid)
    store = found.datastore or (template.datastores[0] if template.datastores else None)
    if store is not None:
        disk = max(template.disk_bytes, (settings.disk_gib or 0) << 30)
        check_datastore(settings, disk, datastore_room(session, store))
    refused: set[str] = set()
    last: VsphereError | None = None
    for _ in range(_CLAIM_ATTEMPTS):
        inventory = read_inventory(session, found.datacenter, found.compute)
        if last is not None and refused >= {host.name for host in inventory.hosts}:
            raise last
        placement = choose_hosts(
            inventory, settings, None if store is None else str(store._moId), per_gpu
        )
        with claimed(session.server_id, placement, refused) as name:
            if name is None:
                if last is not None:
                    raise last
                time.sleep(_CLAIM_SECONDS)
                continue
            host = _host(session, found, name)
            live = _clone(session, settings, identity, found, host)
            try:
                return _finish(session, settings, identity, found, live)
            except VsphereError as failure:
                _clean_up(session, settings, live, failure)
                if failure.code is not Code.GPU_CAPACITY:
                    raise
                refused.add(name)  # another stack was faster there
                last = failure
    raise last or VsphereError(
        Code.GPU_CAPACITY,
        f"every free slot for {settings.name} is claimed by other machines of this update",
        "add a host, or make fewer machines",
    )


def _finish(
    session: Session,
    settings: NodeSettings,
    identity: Identity,
    found: FoundPlace,
    live: Observed,
) -> Observed:
    live = converge(session, settings, identity, found, live, first_boot=live.power == "poweredOff")
    live = power_on(session, settings, found, live)
    return await_ready(session, settings, live)


def await_ready(session: Session, settings: NodeSettings, live: Observed) -> Observed:
    """The machine once its guest is as far as `waitFor` says.

    Raises:
        VsphereError: it was not in time; the text says how far the guest came.
    """
    if settings.wait_for == "powerOn":
        return live

    def ready(now: Observed) -> bool:
        return now.tools_running if settings.wait_for == "tools" else routable(now.address)

    live = until(session, live, settings.timeouts.address, ready)
    if ready(live):
        return live
    tools = "run" if live.tools_running else "do not run"
    raise VsphereError(
        Code.TIMEOUT,
        f"{live.name} runs, and its guest was not ready after {settings.timeouts.address} s: "
        f"VMware tools {tools}, address {live.address or 'none'}",
        "look at /var/log/cloud-init-output.log in the guest; allow more with timeouts.address",
        left=f"{live.name} ({live.moref}, instance uuid {live.instance_uuid}) runs",
    )


def routable(address: str) -> bool:
    """Whether the address can be reached from elsewhere: not empty and not link-local."""
    return bool(address) and not address.startswith(("169.254.", "fe80:", "127.", "::1"))


def _host(session: Session, found: FoundPlace, name: str) -> Any:
    for host, entry in children(session, found.compute, vim.HostSystem, ("name",)):
        if entry.get("name") == name:
            return host
    raise VsphereError(Code.NOT_FOUND, f"host {name} is gone", "run again")


def _clone(
    session: Session,
    settings: NodeSettings,
    identity: Identity,
    found: FoundPlace,
    host: Any,
) -> Observed:
    spec = clone_spec(settings, identity, found, host)
    doing = f"cloning {settings.name} from {settings.place.template}"
    try:
        run(
            session,
            lambda: found.template.CloneVM_Task(found.folder, settings.name, spec),
            settings.timeouts.clone,
        )
    except OutcomeUnknownError:
        return _after_lost_answer(session, settings, identity, found, doing)
    except TaskTimeoutError as problem:
        raise _timed_out(session, settings, identity, found, problem) from None
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
            f"{doing} succeeded, and no machine has the instance uuid {identity.instance_uuid}: "
            "vCenter gave it another, or somebody removed it",
            "look for the machine by its name and remove it, then run again",
        )
    return live


def _after_lost_answer(
    session: Session,
    settings: NodeSettings,
    identity: Identity,
    found: FoundPlace,
    doing: str,
) -> Observed:
    """The answer to the clone call was lost: it was carried out, is under way, or never arrived."""
    deadline = time.monotonic() + settings.timeouts.clone
    while time.monotonic() < deadline:
        live = find_owned(session, found.datacenter, identity)
        if live is not None:
            return live
        flight = await_clone_of_before(session, found.template, settings.name, 30)
        if flight is Flight.NONE:
            break
    live = find_owned(session, found.datacenter, identity)
    if live is not None:
        return live
    raise VsphereError(
        Code.CONNECTION, f"{doing}: the connection broke before vCenter took the call", "run again"
    )


def _timed_out(
    session: Session,
    settings: NodeSettings,
    identity: Identity,
    found: FoundPlace,
    problem: TaskTimeoutError,
) -> VsphereError:
    """Say what a clone that took too long has left. It is not cancelled: the next run adopts it."""
    live = find_owned(session, found.datacenter, identity)
    exists = (
        f"the clone goes on in vCenter, and the next run adopts it; its instance uuid will be "
        f"{identity.instance_uuid}"
        if live is None
        else kept(live)
    )
    return timed_out(f"cloning {settings.name}", problem, "clone", exists)


def kept(live: Observed) -> str:
    """What a failed create leaves, and what becomes of it."""
    return (
        f"{live.name} ({live.moref}, instance uuid {live.instance_uuid}) was kept: the next "
        "`pulumi up` goes on with it, `pulumi destroy` does not know it"
    )


def _clean_up(
    session: Session, settings: NodeSettings, live: Observed, failure: VsphereError
) -> None:
    """Remove what this call made; a failure to do so never hides the first one."""
    if settings.on_create_failure == "keep":
        raise failure.with_left(kept(live)) from None
    try:
        destroy(session, settings, live)
    except VsphereError as second:
        raise failure.with_left(f"{kept(live)}. Removing it failed: {second}") from None
