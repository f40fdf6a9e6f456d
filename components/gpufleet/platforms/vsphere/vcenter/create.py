"""Making a machine, or going on with one that an earlier run began."""

from dataclasses import replace
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.before_clone import check_before
from gpufleet.platforms.vsphere.vcenter.clone import clone, clone_timed_out, kept
from gpufleet.platforms.vsphere.vcenter.cluster_node import node_of
from gpufleet.platforms.vsphere.vcenter.converge import converge
from gpufleet.platforms.vsphere.vcenter.described import Description, describe
from gpufleet.platforms.vsphere.vcenter.drs import behave, drs_group, put_in
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.identity import MachineIdentity
from gpufleet.platforms.vsphere.vcenter.inventory import PerGpu
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace, find_place
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.owned import Flight, await_clone_of_before, find_owned
from gpufleet.platforms.vsphere.vcenter.power import power_on
from gpufleet.platforms.vsphere.vcenter.preflight import check_name
from gpufleet.platforms.vsphere.vcenter.read_inventory import read_inventory
from gpufleet.platforms.vsphere.vcenter.reading import children
from gpufleet.platforms.vsphere.vcenter.ready import await_ready
from gpufleet.platforms.vsphere.vcenter.remove import destroy
from gpufleet.platforms.vsphere.vcenter.rooms import Rooms, release, runs
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.storage import chosen_store, members
from gpufleet.platforms.vsphere.vcenter.tasks import TaskTimeoutError
from gpufleet.spec.platforms.vsphere_policy import CreateFailure


def create(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    per_gpu: PerGpu,
    rooms: Rooms | None = None,
) -> tuple[Observed, bool]:
    """The machine, powered on. Returns it and whether it existed before.

    Can be run again after being killed anywhere: it finds its own half-made machine by uuid, waits
    for its own clone in flight, and does what is left.

    Args:
        session: Login.
        settings: What is declared.
        identity: Whose machine it is.
        per_gpu: Most vGPUs of a profile on one GPU.
        rooms: Inventory shared with machines that are made at the same time. Default: its own.

    Raises:
        VsphereError: it cannot be made. What was made in this call is removed again, or the text
            says what was left.
    """
    found = find_place(session, settings)
    live = find_owned(session, found.datacenter, identity)
    if live is None:
        seconds = settings.timeouts.clone
        flight = await_clone_of_before(session, found.template, settings.name, seconds)
        if flight is Flight.STILL_UP:
            late = TaskTimeoutError(seconds, None)
            raise clone_timed_out(session, settings, identity, found, late)
        if flight is Flight.LANDED:
            live = find_owned(session, found.datacenter, identity)
    if live is not None:
        live = _run(session, settings, identity, found, live)
        return await_ready(session, settings, live), True
    rooms = rooms or rooms_of(session, found, per_gpu)
    return _make(session, settings, identity, found, rooms), False


def rooms_of(session: Session, found: FoundPlace, per_gpu: PerGpu) -> Rooms:
    """Where machines of this place can go."""
    return Rooms(
        lambda: read_inventory(session, found.datacenter, found.compute),
        session.server_id,
        per_gpu,
    )


def _make(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    found: FoundPlace,
    rooms: Rooms,
) -> Observed:
    """Clone and finish, on one host after the other until one can."""
    machine = identity.instance_uuid
    check_name(session, found, settings, machine)
    reach, size = check_before(session, settings, found)
    group = None if settings.vm_group is None else drs_group(session, found, settings.vm_group)
    refused: set[str] = set()
    last: VsphereError | None = None
    while True:
        name = rooms.claim(settings, machine, reach, group, refused)
        if name is None:
            assert last is not None
            raise last
        live: Observed | None = None
        try:
            live = _cloned(session, settings, identity, found, name, size)
            live = _run(session, settings, identity, found, live)
            runs(session.server_id, machine)
            return await_ready(session, settings, live)
        except VsphereError as failure:
            release(session.server_id, machine)
            if live is None:
                raise
            _clean_up(session, settings, live, failure)
            if failure.code is not Code.GPU_CAPACITY:
                raise
            refused.add(name)  # another stack was faster there
            last = failure


def _run(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    found: FoundPlace,
    live: Observed,
) -> Observed:
    """The machine as declared, powered on."""
    live = converge(session, settings, identity, found, live, first_boot=live.power == "poweredOff")
    if settings.vm_group is not None:
        put_in(session, found, settings.vm_group, live.reference, settings.timeouts.reconfigure)
    if settings.drs_behavior is not None:
        behave(session, found, settings, live)
    describe(session, settings, live, Description())
    return power_on(session, settings, found, live)


def _cloned(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    found: FoundPlace,
    name: str,
    size: int,
) -> Observed:
    """The clone on the host of this name: where a datastore cluster is declared, on the datastore
    of it that has most room."""
    host, mounted = _host(session, found, name)
    if found.pod is None:
        return clone(session, settings, identity, found, host)
    rooms, machine = members(session, found), identity.instance_uuid
    with chosen_store(session.server_id, machine, settings, rooms, mounted, size) as store:
        return clone(session, settings, identity, replace(found, datastore=store), host)


def _host(session: Session, found: FoundPlace, name: str) -> tuple[Any, frozenset[str]]:
    """The host, and ids of the datastores it mounts."""
    paths = ("name", "datastore")
    for host, entry in children(session, found.compute, vim.HostSystem, paths):
        if entry.get("name") == name:
            return host, frozenset(str(store._moId) for store in entry.get("datastore") or ())
    raise VsphereError(Code.NOT_FOUND, f"host {name} is gone", "run again")


def _clean_up(
    session: Session, settings: NodeSettings, live: Observed, failure: VsphereError
) -> None:
    """Remove what this call made, unless it waits for a person's answer; a failure to do so never
    hides the first one."""
    if settings.on_create_failure is CreateFailure.KEEP or failure.code is Code.QUESTION:
        raise failure.with_left(kept(live)) from None
    try:
        destroy(session, settings, live)
        with node_of(settings, live.bios_uuid) as node:
            if node is not None:
                node.forget()
    except VsphereError as second:
        raise failure.with_left(f"{kept(live)}. Removing it failed: {second}") from None
