# pyright: standard
"""Logins, and the one machine that is worked on: found by its uuid, believed by its marks."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid5

from pyVmomi import vim, vmodl

from gpufleet_vcenter import identity
from gpufleet_vcenter.credentials import credentials
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed
from gpufleet_vcenter.lookup import FoundPlace, datacenter_of
from gpufleet_vcenter.observed import Observed, observe, seen
from gpufleet_vcenter.reading import events, one, properties
from gpufleet_vcenter.session import Session, session_for
from gpufleet_vcenter.settings import Endpoint, NodeSettings, parsed
from gpufleet_vcenter.tasks import Begin, changed_until, in_words, wait


def logged_in(endpoint: Endpoint) -> Session:
    """The process's login to the vCenter.

    Raises:
        VsphereError: there are no credentials, or the vCenter cannot be talked to.
    """
    with in_words(f"logging in to {endpoint.server}"):
        return session_for(endpoint, credentials(endpoint.credentials_key))


@contextmanager
def asked(
    endpoint: Mapping[str, Any], datacenter: str, doing: str
) -> Generator[tuple[Session, Any]]:
    """A login and the datacenter, outside a deployment.

    Args:
        endpoint: Fields of `Endpoint`, camelCase; None: absent.

    Raises:
        VsphereError: a field is invalid, the vCenter cannot be reached, or the name is not found.
    """
    given = {key: value for key, value in endpoint.items() if value is not None}
    session = logged_in(parsed(Endpoint, given, "the vCenter cannot be addressed"))
    with in_words(doing):
        yield session, datacenter_of(session, datacenter)


@dataclass(frozen=True, slots=True)
class MachineWork:
    """One machine that is made, changed or removed."""

    session: Session
    settings: NodeSettings
    """The declaration of the machine."""
    known_uuid: str = ""
    """Its uuid in the state. Default: computed from the other fields."""
    pending: bool = False
    """Whether the machine is not complete yet. Default false."""

    @property
    def uuid(self) -> str:
        """vCenter's instance uuid of the machine, lower case; also the resource's id. vCenter's own
        uuid is part of it, so that a renamed server keeps its machines."""
        of, server = self.settings, self.session.server_id
        text = "|".join((server, of.owner, of.generation, of.life))
        return self.known_uuid or str(uuid5(identity.NAMESPACE, text))

    @property
    def marks(self) -> dict[str, str]:
        """Keys of the machine's extra configuration. Not under `guestinfo.`: guests write there."""
        of = self.settings
        marks = {**identity.SCHEMA, identity.OWNER: of.owner, identity.GENERATION: of.generation}
        marks |= {identity.LIFE: of.life, identity.UUID: self.uuid}
        return {**marks, identity.PENDING: "true"} if self.pending else marks

    def owns(self, live: Observed) -> bool:
        """Whether the machine is the one declared here."""
        declared = {**identity.SCHEMA, identity.GENERATION: self.settings.generation}
        return self.is_key(live) and declared.items() <= live.extra_config.items()

    def is_key(self, live: Observed) -> bool:
        """Whether the machine is this one of the group, or another generation of it: id and key
        decide, not the names of project and stack, which change when a stack is renamed."""
        of = self.settings
        return live.life == of.life and live.key == identity.key_of(of.owner)

    @property
    def place(self) -> FoundPlace:
        """Every object that the declaration names, looked up once."""
        disks, place = self.settings.extra_disks, self.settings.place
        stores = tuple(sorted({disk.datastore for disk in disks if disk.datastore is not None}))
        known = (place.model_copy(update={"hosts": (), "deny_hosts": ()}), stores)
        if known not in self.session.places:
            self.session.places[known] = FoundPlace(self.session, place, stores)
        return self.session.places[known]

    def named(self) -> Observed | None:
        """The machine of this name in the declared folder, with any owner."""
        index, folder = self.session.content.searchIndex, self.place.folder
        found = self.session.call(lambda: index.FindChild(folder, self.settings.name))
        return observe(self.session, found) if isinstance(found, vim.VirtualMachine) else None

    def all_with(self, uuid: str) -> list[Observed]:
        """Every machine with this instance uuid; vCenter keeps it unique, a restored copy may
        not."""
        find, center = self.session.content.searchIndex.FindAllByUuid, self.place.datacenter
        listed = self.session.call(lambda: find(center, uuid, True, True))
        return [live for item in listed if (live := observe(self.session, item)) is not None]

    def find(self, moref: str = "") -> Observed | None:
        """Current state of our machine; None: it does not exist.

        Args:
            moref: Its last known reference: a machine that still has this reference exists even if
                the search does not find it. Default: unknown.

        Raises:
            VsphereError: a machine with this uuid is not ours, there are several, or it is not
                shown.
        """
        found = self.all_with(self.uuid)
        if len(found) == 1 and self.owns(found[0]):
            return found[0]
        if found:
            names = ", ".join(f"{live.name} ({live.moref})" for live in found)
            if len(found) > 1:
                raise failed("ambiguous/uuid", count=len(found), work=self, names=names)
            owner = found[0].owner or "an unknown owner"
            raise failed("foreign-machine", names=names, work=self, owner=owner)
        machine = moref and self.session.object(vim.VirtualMachine, moref)
        paths = ("name", "config.extraConfig")
        known = one(self.session, machine, vim.VirtualMachine, paths) if machine else None
        live = seen(machine, known) if known else None
        # It exists although the search does not find it: the user may have lost rights to it, or
        # its uuid was changed. Or another machine has the reference now.
        if live is not None and (not live.extra_config or self.is_key(live)):
            name = live.name or "a machine without a name"
            raise failed("unreadable-machine/not-found", work=self, moref=moref, name=name)
        return None


def still_there(session: Session, live: Observed) -> Observed:
    """The machine at present.

    Raises:
        VsphereError: it was removed meanwhile.
    """
    now = observe(session, live.reference)
    if now is None:
        raise failed("not-found/removed", live=live)
    return now


def changed(
    work: MachineWork,
    live: Observed,
    lacking: Callable[[Observed], Begin | None],
    what: str = "",
    mmio_gib: int | None = None,
) -> Observed:
    """The machine after the changes that it lacks.

    Args:
        lacking: The change that the machine needs; None: none.
        what: What is changed, for errors. Default: the machine.
        mmio_gib: As in `changed_until`.
    """
    now, known = live, True

    def begin() -> Begin | None:
        nonlocal now, known
        now, known = now if known else still_there(work.session, now), False
        return lacking(now)

    seconds, name = work.settings.timeouts.reconfigure, what or live.name
    changed_until(work.session, live.reference, begin, seconds, name, "machine", mmio_gib)
    return now


def await_clones(
    session: Session, seconds: int, doing: str, left: str, is_ours: Callable[["RunningClone"], bool]
) -> bool:
    """Wait for clones in flight that an earlier, killed or interrupted run may have begun. Between
    the call and the machine's appearance nothing can be found by uuid, and no marks are seen.

    Args:
        seconds: Maximum duration of one clone.
        doing: The waiting step, for errors.
        left: What exists if one takes longer.
        is_ours: Whether a clone is one of those.

    Returns whether there were any. Raises VsphereError for a clone that is not done in time, and
    where the update was interrupted.
    """
    ours = [clone for clone in running_clones(session) if is_ours(clone)]
    for clone in ours:
        try:
            # A task that vCenter does not know is over.
            with in_words(doing, "clone", left), suppress(OutcomeUnknownError):
                wait(session, clone.task, seconds)
        except VsphereError as failure:
            if failure.code in ("vsphere-interrupted", "vsphere-timeout", "vsphere-connection"):
                raise  # any other is the clone's own failure
    return bool(ours)


def clones_in_flight(session: Session) -> set[str]:
    """Names of the machines that clones make now, from whichever template: a killed run may have
    had another one declared."""
    return {name for clone in running_clones(session) for name in clone.names}


@dataclass(frozen=True, slots=True)
class RunningClone:
    """A task that clones a machine now, or will. A task names only the source, and its event only
    the destination: both together name the machine."""

    task: Any
    source: Any
    names: frozenset[str]
    """Names that the new machine can have. Empty: its event is missing or not readable."""


def running_clones(session: Session) -> list[RunningClone]:
    """All running clones of the vCenter."""
    manager = session.content.taskManager
    tasks = (one(session, manager, vim.TaskManager, ("recentTask",)) or {}).get("recentTask") or []
    paths = ("info.descriptionId", "info.state", "info.entity", "info.eventChainId")
    started: dict[Any, list[Any]] = {}
    clones: list[RunningClone] = []
    for task, found in properties(session, list(tasks), vim.Task, paths):
        source, chain = found.get("info.entity"), found.get("info.eventChainId")
        is_clone = str(found.get("info.descriptionId", "")).startswith("VirtualMachine.clone")
        if not is_clone or str(found.get("info.state")) not in ("running", "queued"):
            continue
        if source not in started:
            started[source] = []  # of machines that the user may not see
            with suppress(vim.fault.NoPermission, vmodl.fault.ManagedObjectNotFound):
                started[source] = events(session, source, ("VmBeingClonedEvent",))
        names = (
            str(event.destName)
            for event in started[source]
            if chain in (None, 0) or event.chainId in (chain, event.key, 0)
        )
        clones.append(RunningClone(task, source, frozenset(names)))
    return clones
