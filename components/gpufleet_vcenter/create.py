"""Making a machine, or going on with one that an earlier run began: one machine, even when the
answer to the clone call is lost, late, or the name is taken."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from pyVmomi import vim

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet.spec.platforms.vsphere_policy import CreateFailure
from gpufleet_vcenter.cluster_node import node_of
from gpufleet_vcenter.converge import converge, power_on
from gpufleet_vcenter.described import describe
from gpufleet_vcenter.drs import add, behave, regroup
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed, said
from gpufleet_vcenter.identity import Standing
from gpufleet_vcenter.inventory import read_host
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork, await_clones
from gpufleet_vcenter.placement import Wish, check_still_fits, claim, release, slots_of
from gpufleet_vcenter.preflight import check_before, check_name
from gpufleet_vcenter.remove import destroy
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.specs import clone_spec
from gpufleet_vcenter.storage import chosen_store, members
from gpufleet_vcenter.tasks import in_words, run

_ATTEMPTS = 3


def create(work: MachineWork, checked: Wish | None = None) -> tuple[Observed, bool]:
    """The machine, powered on. Returns it, and whether it existed before.

    Can be repeated after a kill at any point: it finds its own incomplete machine by uuid, waits
    for its own running clone, and completes the rest.

    Args:
        checked: Requirements of all machines of its group on a host. Default: they are read.

    Raises:
        VsphereError: it cannot be created. What this call created is removed again, or the text
            says what was left.
    """
    try:
        taken = None if work.settings.adopt is None else _taken_over(work)
        if taken is not None:
            return run_declared(replace(work, known_uuid=taken.instance_uuid), taken), True
        begun = live = _begun(work)
        if live is not None:
            incomplete = live.is_pending
            try:
                live = run_declared(replace(work, pending=incomplete), live)
            except VsphereError as failure:
                if not incomplete or failure.code != "vsphere-gpu-capacity":
                    raise
                _clean_up(work, live, failure)  # its host is full: begin on another
                live = None
        if live is None:
            live = _make(replace(work, pending=True), checked)
        return live, begun is not None
    finally:
        release(work)  # it runs, or has failed


def _begun(work: MachineWork) -> Observed | None:
    """The machine that an earlier run began; its clone in flight is waited for."""
    live = work.find()
    if live is not None:
        return live
    name, seconds = work.settings.name, work.settings.timeouts.clone
    left, doing = said("interrupted/clone", work=work), f"cloning {name}"
    known = await_clones(work.session, seconds, doing, left, lambda clone: name in clone.names)
    return work.find() if known else None


def _taken_over(work: MachineWork) -> Observed | None:
    """The machine of another stack that the declaration names by its uuid; None: it does not exist.

    Raises:
        VsphereError: gpufleet did not make it, it has another name, or there are several.
    """
    name, uuid = work.settings.name, work.settings.adopt or ""
    listed = work.all_with(uuid)
    live = listed[0] if len(listed) == 1 else None
    if listed and (live is None or not live.owner or live.name != name):
        which = f"{live.name} ({live.moref})" if live else f"{len(listed)} machines"
        raise failed("foreign-machine/adopt", uuid=uuid, which=which, name=name)
    return live


def _make(work: MachineWork, checked: Wish | None) -> Observed:
    """Clone and start, on one host after the other until one can; in a datastore cluster on the
    datastore of it that has most room."""
    live = work.named()
    if live and live.standing_in(work.settings.life) is Standing.PENDING and work.is_key(live):
        destroy(work, live)  # the declaration has changed since
    else:
        check_name(work, live)
    wish = replace(checked or check_before(work), settings=work.settings, count=1)
    refused: set[str] = set()
    last: VsphereError | None = None
    while True:
        host = claim(work, wish, refused)
        if host is None:
            assert last is not None
            raise last
        live: Observed | None = None
        try:
            store = nullcontext(work.place.datastore)
            if work.place.pod is not None:
                among = members(work.session, work.place)
                store = chosen_store(work, among, host.datastores, wish.disk_bytes)
            with store as datastore:
                at = work.session.object(vim.HostSystem, host.id)
                live = clone(work, at, datastore)
            return run_declared(work, live)
        except VsphereError as failure:
            if live is None:
                raise
            _clean_up(work, live, failure)
            if failure.code != "vsphere-gpu-capacity":
                raise
            refused.add(host.name)  # another stack took the room
            last = failure


def run_declared(work: MachineWork, live: Observed, before: NodeSettings | None = None) -> Observed:
    """The machine as declared, powered on.

    Args:
        before: The previous declaration. Default: none, the machine is new.
    """
    settings, machine = work.settings, live.reference
    first = before is None and live.power == "poweredOff"
    live = converge(work, live, first_boot=first, before=before)
    former = None if before is None else before.vm_group
    for name in (former, settings.vm_group) if former != settings.vm_group else ():
        if name is not None:
            regroup(work, name, inside=name == settings.vm_group, machine=machine)
    if before is None:
        add(work, machine)
    if settings.drs_behavior is not (None if before is None else before.drs_behavior):
        behave(work, live)
    describe(work, live, before)
    if work.pending and live.power == "poweredOff" and live.host is not None:
        check_still_fits(work, live)
    return power_on(work, live)


def clone(work: MachineWork, host: Any, datastore: Any | None) -> Observed:
    """Clone the template to the host and the datastore. Returns our machine, off.

    Raises:
        VsphereError: it was not cloned, or not in time; the text states what exists.
    """
    found, name, seconds = work.place, work.settings.name, work.settings.timeouts.clone
    spec = clone_spec(work, host, datastore)
    doing = f"cloning {name} from {work.settings.place.template}"

    def start() -> Any:
        return found.template.CloneVM_Task(found.folder, name, spec)

    def left() -> str:
        kept, row = work.find(), "interrupted/clone"
        return said("interrupted/kept", live=kept) if kept else said(row, work=work)

    for _ in range(_ATTEMPTS):
        # After its time, and after an interrupt, it is not cancelled: the next run adopts it.
        with in_words(doing, "clone", left):
            try:
                run(work.session, start, seconds)
                live = work.find()
            except OutcomeUnknownError:
                # It was carried out, is under way, or never arrived: vCenter has neither the
                # machine nor a task that makes it. Then a second call is safe: names in a folder
                # are unique, so vCenter refuses it where the first one arrives late.
                live = _begun(work)
                if live is None:
                    continue
            except vim.fault.DuplicateName:
                live = work.find()
                if live is None:
                    check_name(work, work.named())
                    raise failed("name-taken/unseen", doing=doing) from None
        if live is None:
            raise failed("conflict/clone", doing=doing, work=work)
        return live
    raise failed("connection/clone", doing=doing)


def _clean_up(work: MachineWork, live: Observed, failure: VsphereError) -> None:
    """Remove the machine that this call made, unless it has an open question or the update was
    interrupted; a failure of the removal never hides the first failure."""
    keep, left = work.settings.on_create_failure, said("interrupted/kept", live=live)
    if keep is CreateFailure.KEEP or failure.code == "vsphere-question" or CANCELLED.is_set():
        raise failure.with_left(left) from None
    try:
        destroy(work, live)
        if (node := node_of(work.settings, live.bios_uuid)) is not None:
            node.forget()
    except VsphereError as second:
        raise failure.with_left(f"{left}. Removing it failed: {second}") from None


NEXT = "-next"
"""End of the name of a replacement while the machine that it replaces is there."""


def clone_replacement(work: MachineWork, uuid: str) -> None:
    """Clone the replacement of a running machine next to that machine.

    The replacement gets name and GPUs after the old machine is removed: both cannot have them. If
    the datastore has no room for both, or the replacement needs another host, nothing is cloned.

    Args:
        work: The replacement.
        uuid: Instance uuid of the machine that it replaces.
    """
    session, settings = work.session, work.settings
    with in_words(f"making the replacement of {settings.name}"):
        (old, *others) = work.all_with(uuid) or [None]
        if old is None or others or old.host is None:
            return
        if uuid == work.uuid or work.find() is not None:
            return
        try:
            wish = check_before(work)
        except VsphereError as failure:
            if failure.code == "vsphere-datastore-full":
                return  # validated without the old machine
            raise
        host = read_host(session, old.host).later(gone=(uuid,))
        if work.place.pod is None and slots_of(host, wish).free:
            other_name = settings.model_copy(update={"name": f"{settings.name}{NEXT}"})
            clone(replace(work, settings=other_name), old.host, work.place.datastore)
