"""Conditions for the clone of a machine: read from vCenter in the preview and before cloning, and
validated without further calls."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_snake
from pyVmomi import vim

from gpufleet.spec.platforms.vsphere import DYNAMIC_HARDWARE, NUMA_HARDWARE
from gpufleet_vcenter.described import check_description
from gpufleet_vcenter.disks import disk_bytes, first_disk
from gpufleet_vcenter.drs import check_cluster, drs_group
from gpufleet_vcenter.errors import VsphereError, failed, holding
from gpufleet_vcenter.identity import Standing
from gpufleet_vcenter.lookup import inventory_path
from gpufleet_vcenter.observed import NUMA_API, Observed, observe
from gpufleet_vcenter.owned import MachineWork, clones_in_flight
from gpufleet_vcenter.placement import Wish, inventory_of, places
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.storage import check_storage, sizes
from gpufleet_vcenter.tasks import in_words

DYNAMIC_API = (7, 0)
LABEL_API = (7, 0, 2)


def check_api(session: Session, settings: NodeSettings) -> None:
    """Refuse inputs that the server's API would silently drop.

    pyVmomi leaves out fields that are newer than the server, and the machine would come up
    without its GPU.
    """
    dynamic = [LABEL_API if one.label else DYNAMIC_API for one in settings.dynamic]
    needed: dict[str, tuple[int, ...]] = {"api-dynamic": max(dynamic)} if dynamic else {}
    needed |= {} if settings.cores_per_numa_node is None else {"api-numa": NUMA_API}
    for row, api in needed.items():
        if session.api_version < api:
            least, speaks = (".".join(map(str, one)) for one in (api, session.api_version))
            raise failed(f"unsupported/{row}", least=least, settings=settings, speaks=speaks)


def check_template(settings: NodeSettings, template: Observed) -> None:
    """Refuse a template whose clones could not run with GPUs. All reasons at once."""
    wrong = holding(
        "template",
        settings=settings,
        template=template,
        newest=max(template.hardware_version, settings.hardware_version or 0),
        has_gib=-(-disk_bytes(first_disk(template)) >> 30),
        dynamic_hardware=DYNAMIC_HARDWARE,
        numa_hardware=NUMA_HARDWARE,
    )
    if wrong:
        reasons = "; ".join(row["message"] for row in wrong)
        raise failed("template", template=template, wrong=reasons)


def check_name(work: MachineWork, live: Observed | None) -> None:
    """Refuse a name that another machine of the folder has: `live` is the one of the name."""
    if live is not None and live.instance_uuid != work.uuid:
        raise _name_taken(work.settings, live)


def _name_taken(settings: NodeSettings, live: Observed) -> VsphereError:
    """The error that another machine has the name, with its owner."""
    owner = live.owner or "an unknown owner"
    folder = settings.place.folder or "the root of the datacenter"
    return failed("name-taken", settings=settings, live=live, owner=owner, folder=folder)


def check_before(work: MachineWork, count: int = 1) -> Wish:
    """Check API, template, privileges and datastores for machines of this kind. Returns their
    requirements on a host.

    Raises:
        VsphereError: a condition is not met.
    """
    session, settings, found = work.session, work.settings, work.place
    check_api(session, settings)
    check_cluster(settings, found)
    template = observe(session, found.template)
    if template is None:
        raise failed("not-found/template", settings=settings)
    check_template(settings, template)
    check_privileges(work, template)
    check_description(session, settings)
    stores = check_storage(work, template, count)
    wanted = (wish.network for wish in found.adapters if wish.network is not None)
    networks = frozenset(str(network.reference._moId) for network in wanted)
    group = settings.vm_group and drs_group(work, settings.vm_group)
    size = sizes(settings, template)[None]
    return Wish(settings, stores, networks, group or None, count, size)


def validate_new(
    session: Session, absent: Sequence[NodeSettings], leaving: frozenset[str]
) -> list[str]:
    """Reasons that prevent the creation of these machines of one group, each once.

    Args:
        absent: Machines that are to be made, replaced, or changed while they are off.
        leaving: Instance uuids of machines whose place counts as free: the same update removes,
            replaces or restarts them.
    """
    if not absent:
        return []
    reasons: list[str] = []
    try:
        with in_words(f"looking at the place of {absent[0].name}"):
            for settings in absent:
                _validate_name(MachineWork(session, settings), reasons)
            work = MachineWork(session, absent[0])
            wish = check_before(work, len(absent))
            found = places(inventory_of(work).later({}, leaving), absent, wish)
            reasons += [str(row.failure()) for row in found if not row.complete]
    except VsphereError as failure:
        reasons.append(str(failure))
    return reasons


def _validate_name(work: MachineWork, reasons: list[str]) -> None:
    """A machine of another owner with its name is a reason. A running clone may have no
    configuration yet (API reference of VirtualMachine.config): a later step waits."""
    settings = work.settings
    try:
        live = work.named()
    except VsphereError as failure:
        unreadable = failure.code == "vsphere-unreadable-machine"
        if unreadable and settings.name in clones_in_flight(work.session):
            return
        raise
    if live is None or live.instance_uuid == settings.adopt:
        return
    if live.standing_in(settings.life) in (Standing.COPY, Standing.FOREIGN):
        reasons.append(str(_name_taken(settings, live)))


with Path(__file__).with_name("privileges.csv").open(encoding="utf-8") as _file:
    _PRIVILEGES = [(row["object"], row["when"], row["privilege"]) for row in csv.DictReader(_file)]
"""Kind of object, condition, and the privilege that the user then needs on it."""


def check_privileges(work: MachineWork, template: Observed) -> None:
    """Refuse when a privilege is missing. All of them at once, each with its object.

    Asked once for a place and a login: rights seldom change in the middle of a run.

    Raises:
        VsphereError: privileges are missing.
    """
    session, settings, found = work.session, work.settings, work.place
    states = {
        "": True,
        "upgrade": (settings.hardware_version or 0) > template.hardware_version,
        "template": template.is_template,
        "machine": not template.is_template,
    }
    # Datastores, or the cluster of them, that disks will be on.
    own = found.pod or found.datastore or next(iter(template.datastores), None)
    stores = (own, *(store for store, _ in found.disk_stores.values()))
    networks = [wish.network.reference for wish in found.adapters if wish.network is not None]
    objects: Mapping[str, Sequence[Any]] = {
        "folder": [found.folder],
        "pool": [found.pool],
        "template": [found.template],
        "datastore": [item for item in stores if item is not None],
        "network": networks,
        "cluster": [found.compute],
    }
    asked: dict[Any, list[str]] = {}
    for kind, when, privilege in _PRIVILEGES:
        if states[when] if when in states else getattr(settings, to_snake(when)):
            for item in objects[kind]:
                asked.setdefault(item, []).append(privilege)
    known = ("privileges", *((str(item._moId), tuple(names)) for item, names in asked.items()))
    if known in session.checked:
        return
    granted = _granted(session, list(asked), {p for ps in asked.values() for p in ps})
    lacking: list[str] = []
    for item, privileges in asked.items():
        missing = [n for n in dict.fromkeys(privileges) if (str(item._moId), n) not in granted]
        if missing:
            lacking.append(f"{', '.join(missing)} on {inventory_path(session, item)}")
    if lacking:
        raise failed("permission/privileges", lacking="; ".join(lacking))
    session.checked.add(known)


def _granted(session: Session, items: list[Any], privileges: set[str]) -> set[tuple[str, str]]:
    """Object and privilege, for each privilege that the user has."""
    manager = session.content.authorizationManager

    def ask() -> Any:
        current = session.content.sessionManager.currentSession
        if current is None:
            raise vim.fault.NotAuthenticated  # how a lost session shows here
        return manager.HasPrivilegeOnEntities(items, current.key, sorted(privileges))

    return {
        (str(entity.entity._moId), row.privId)
        for entity in session.call(ask)
        for row in entity.privAvailability
        if row.isGranted
    }
