"""Everything that must hold before a clone, asked of vCenter in the preview and before cloning."""

from collections import Counter
from collections.abc import Sequence

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.apart import check_cluster
from gpufleet.platforms.vsphere.vcenter.described import check_description
from gpufleet.platforms.vsphere.vcenter.drs import drs_group
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.faults import in_words
from gpufleet.platforms.vsphere.vcenter.identity import LIFE, OWNER, UNKNOWN_LIFE
from gpufleet.platforms.vsphere.vcenter.inventory import PerGpu
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace, find_place
from gpufleet.platforms.vsphere.vcenter.observed import observe
from gpufleet.platforms.vsphere.vcenter.placement import RequiredAccess
from gpufleet.platforms.vsphere.vcenter.preflight import (
    check_api,
    check_template,
    choose_hosts,
    name_taken,
)
from gpufleet.platforms.vsphere.vcenter.privileges import check_privileges
from gpufleet.platforms.vsphere.vcenter.read_inventory import read_inventory
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import GpuAttachment, NodeSettings
from gpufleet.platforms.vsphere.vcenter.storage import check_storage, sizes


def check_before(
    session: Session, settings: NodeSettings, found: FoundPlace, count: int = 1
) -> tuple[RequiredAccess, int]:
    """API, template, privileges and datastores for machines of this kind. Returns what their hosts
    must reach, and the bytes of a machine's disks on its own datastore.

    Raises:
        VsphereError: something does not hold.
    """
    check_api(session, settings)
    check_cluster(settings, found)
    template = observe(session, found.template)
    if template is None:
        raise VsphereError(
            Code.NOT_FOUND, f"template {settings.place.template} is gone", "name another template"
        )
    check_template(settings, template)
    check_privileges(session, settings, found, template)
    check_description(session, settings)
    stores = check_storage(session, settings, found, template, count)
    wanted = (wish.network for wish in found.adapters if wish.network is not None)
    networks = frozenset(str(network.reference._moId) for network in wanted)
    return RequiredAccess(stores, networks), sizes(settings, template)[None]


def validate_new(
    session: Session,
    wanted: Sequence[NodeSettings],
    leaving: frozenset[str],
    per_gpu: PerGpu,
    again: frozenset[str] = frozenset(),
) -> list[str]:
    """What prevents making these machines of one group, each reason once.

    Args:
        session: Login.
        wanted: Machines that are to be made; one that is there already needs nothing.
        leaving: Owners of machines that the same update removes: their place is counted as free.
        per_gpu: Most vGPUs of a profile on one GPU.
        again: Owners of those among them that are replaced or changed while off: they need a place
            although they are there, and theirs counts as free. Default: none.
    """
    if not wanted:
        return []
    reasons: list[str] = []
    try:
        with in_words(f"looking at the place of {wanted[0].name}"):
            found = find_place(session, wanted[0])
            absent = [
                item
                for item in wanted
                if _is_absent(session, found, item, again, reasons) or item.owner in again
            ]
            if absent:
                _validate_place(session, found, absent, leaving | again, per_gpu, reasons)
    except VsphereError as failure:
        reasons.append(str(failure))
    return reasons


def _is_absent(
    session: Session,
    found: FoundPlace,
    settings: NodeSettings,
    again: frozenset[str],
    reasons: list[str],
) -> bool:
    """Whether the machine is yet to be made; a stranger with its name is a reason."""
    index = session.content.searchIndex
    machine = session.call(lambda: index.FindChild(found.folder, settings.name))
    live = observe(session, machine) if isinstance(machine, vim.VirtualMachine) else None
    if live is None:
        return True
    known = settings.owner in again
    # The id of the stack is not known in a preview that makes or changes its resource, and
    # machines that were made before there was one do not carry it.
    unknown = not settings.life or (known and settings.life == UNKNOWN_LIFE)
    mark = live.extra_config.get(LIFE, settings.life if known else "")
    ours = live.extra_config.get(OWNER) == settings.owner and (unknown or mark == settings.life)
    if not ours and live.instance_uuid != settings.adopt:
        reasons.append(str(name_taken(settings, live)))
    return False


def _validate_place(
    session: Session,
    found: FoundPlace,
    absent: Sequence[NodeSettings],
    leaving: frozenset[str],
    per_gpu: PerGpu,
    reasons: list[str],
) -> None:
    first = absent[0]
    try:
        reach, _ = check_before(session, first, found, len(absent))
        group = None if first.vm_group is None else drs_group(session, found, first.vm_group)
    except VsphereError as failure:
        reasons.append(str(failure))
        return
    inventory = read_inventory(session, found.datacenter, found.compute).without(leaving)
    kinds: Counter[tuple[GpuAttachment, tuple[str, ...]]] = Counter()
    example: dict[tuple[GpuAttachment, tuple[str, ...]], NodeSettings] = {}
    for settings in absent:
        kind = (settings.gpu, settings.place.hosts)
        kinds[kind] += 1
        example.setdefault(kind, settings)
    for kind, count in kinds.items():
        try:
            choose_hosts(inventory, example[kind], reach, per_gpu, group, count)
        except VsphereError as failure:
            reasons.append(str(failure))
