"""Everything that must hold before a machine is cloned: asked of vCenter in the preview and before
cloning, validated without it."""

import itertools
from collections.abc import Sequence
from typing import Any

from pyVmomi import vim

from gpufleet.spec.platforms.vsphere import DYNAMIC_HARDWARE, NUMA_HARDWARE
from gpufleet.spec.platforms.vsphere_policy import LatencySensitivity
from gpufleet_vcenter.described import check_description
from gpufleet_vcenter.disks import disk_bytes, first_disk
from gpufleet_vcenter.drs import DrsGroup, check_cluster, group_of
from gpufleet_vcenter.errors import Code, VsphereError
from gpufleet_vcenter.faults import in_words
from gpufleet_vcenter.identity import OWNER, Standing
from gpufleet_vcenter.inventory import Inventory, MachineHolding, read_inventory
from gpufleet_vcenter.lookup import FoundPlace, inventory_path
from gpufleet_vcenter.observed import NUMA_API, Observed, observe
from gpufleet_vcenter.owned import MachineWork, clones_in_flight, work_on
from gpufleet_vcenter.placement import (
    MachinePlacement,
    RequiredAccess,
    Wish,
    most_bound_first,
    place,
)
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    GpuAttachment,
    NodeSettings,
)
from gpufleet_vcenter.storage import check_storage, sizes

DYNAMIC_API = (7, 0)
LABEL_API = (7, 0, 2)


def check_api(session: Session, settings: NodeSettings) -> None:
    """Refuse what the server's API would silently drop.

    pyVmomi leaves out fields that are newer than the server, and the machine would come up
    without its GPU.
    """
    needed: list[tuple[str, tuple[int, ...], str]] = []
    for devices in settings.dynamic:
        api = LABEL_API if devices.label else DYNAMIC_API
        needed.append(("dynamic passthrough", api, "use fixed passthrough"))
    if settings.cores_per_numa_node is not None:
        needed.append(("coresPerNumaNode", NUMA_API, "leave it out"))
    for what, api, remedy in needed:
        if session.api_version < api:
            least, speaks = (".".join(map(str, one)) for one in (api, session.api_version))
            raise VsphereError(
                Code.UNSUPPORTED,
                f"{what} needs vSphere API {least}, and {settings.endpoint.server} speaks {speaks}",
                f"{remedy}, or use a newer vCenter",
            )


def check_template(settings: NodeSettings, template: Observed) -> None:
    """Refuse a template whose clones could not run with GPUs. All reasons at once."""
    wrong: list[str] = []
    if not template.is_template and template.power != "poweredOff":
        wrong.append(f"it is not a template and is {template.power}: power it off")
    if template.firmware != "efi":
        wrong.append(
            f"its firmware is {template.firmware}: GPUs need EFI, and the guest must have been "
            "installed under it"
        )
    version, wanted = template.hardware_version, settings.hardware_version
    if settings.dynamic and max(version, wanted or 0) < DYNAMIC_HARDWARE:
        wrong.append(
            f"its hardware version is {version}: dynamic passthrough needs {DYNAMIC_HARDWARE}, and "
            "hardwareVersion does not ask for it"
        )
    if settings.cores_per_numa_node is not None and max(version, wanted or 0) < NUMA_HARDWARE:
        wrong.append(
            f"its hardware version is {version}: coresPerNumaNode needs {NUMA_HARDWARE}, and "
            "hardwareVersion does not ask for it"
        )
    if template.encrypted:
        wrong.append(
            "it is encrypted, or has a virtual TPM: clones would need a key provider and would "
            "share the secrets of the TPM, and gpufleet makes no such machines"
        )
    if wanted is not None and wanted < version:
        wrong.append(
            f"its hardware version is {version} and hardwareVersion is {wanted}: virtual hardware "
            "cannot go back"
        )
    if settings.guest_id not in (None, template.guest_id):
        wrong.append(
            f"its guest is {template.guest_id or 'unknown'} and guestId is {settings.guest_id}: "
            "the guest is what was installed"
        )
    first = first_disk(template)
    has = disk_bytes(first)
    if settings.disk_gib is not None and settings.disk_gib << 30 < has:
        wrong.append(
            f"its disk has {has >> 30} GiB and diskGib is {settings.disk_gib}: a disk can only grow"
        )
    if (settings.disk_gib is not None or settings.extra_disks) and first is None:
        wrong.append("it has no disk, and disks are declared")
    if not template.adapters and settings.place.adapters == ((None, None),):
        wrong.append("it has no network adapter, and networks declares none")
    if wrong:
        raise VsphereError(
            Code.TEMPLATE,
            f"template {template.name} will not do: {'; '.join(wrong)}",
            "build the template again (docs/vsphere-template.md says how)",
        )


def check_name(work: MachineWork) -> None:
    """Refuse a name that another machine of the folder has."""
    live = work.named()
    if live is not None and live.instance_uuid != work.identity.instance_uuid:
        raise _name_taken(work.settings, live)


def _name_taken(settings: NodeSettings, live: Observed) -> VsphereError:
    """That the name belongs to another machine, and whose it is."""
    owner = live.extra_config.get(OWNER, "an unknown owner")
    return VsphereError(
        Code.NAME_TAKEN,
        f"the folder has a machine named {settings.name} ({live.moref}, instance uuid "
        f"{live.instance_uuid}) that belongs to {owner}; the folder is "
        f"{settings.place.folder or 'the root of the datacenter'}",
        "rename one of them, or remove that machine",
    )


def wish_for(
    settings: NodeSettings, reach: RequiredAccess, group: DrsGroup | None = None, count: int = 1
) -> Wish:
    """What machines of this kind ask of a host."""
    return Wish(
        settings.gpu,
        settings.memory_mib,
        count,
        settings.place.hosts,
        settings.place.deny_hosts,
        reach,
        1 if settings.separate_hosts == "required" else settings.max_per_host,
        settings.life or settings.group,
        (lambda _: True) if group is None else group.allows,
        settings.cpu_reservation_mhz or 0,
        settings.cpus if settings.latency_sensitivity is LatencySensitivity.HIGH else 0,
        settings.nics,
    )


def choose_hosts(
    inventory: Inventory,
    settings: NodeSettings,
    reach: RequiredAccess,
    group: DrsGroup | None = None,
    count: int = 1,
) -> MachinePlacement:
    """Where machines of this kind can go, one if nothing else is reported.

    Raises:
        VsphereError: not all find a place; the text says what each host lacks.
    """
    placement = place(inventory, wish_for(settings, reach, group, count))
    if placement.complete:
        return placement
    gpu = settings.gpu
    code = Code.GPU_CAPACITY
    if not any(host.gpus for host in inventory.hosts):
        code = Code.GPU_NONE
    elif not isinstance(gpu, (FixedPassthrough, DynamicPassthrough)) and not any(
        gpu.profile in host.profiles for host in inventory.hosts
    ):
        code = Code.GPU_PROFILE
    raise VsphereError(
        code, f"{_subject(settings, count)}: {placement.refusal()}", _NO_PLACE_REMEDY[code]
    )


_NO_PLACE_REMEDY = {
    Code.GPU_NONE: "toggle passthrough for the GPUs of a host and reboot it, or for vGPU set them "
    "to Shared Direct and install NVIDIA's vGPU manager; see `gpufleet vsphere inventory`",
    Code.GPU_PROFILE: "write a profile that is offered, or set the GPUs of a host to Shared Direct "
    "and install NVIDIA's vGPU manager; see `gpufleet vsphere inventory`",
    Code.GPU_CAPACITY: "free GPUs or memory, add a host, or see `gpufleet vsphere inventory`",
}


def _subject(settings: NodeSettings, count: int) -> str:
    if count == 1:
        return f"no host can take {settings.name}"
    return f"the hosts cannot take {count} machines like {settings.name}"


def check_before(work: MachineWork, count: int = 1) -> tuple[RequiredAccess, int]:
    """API, template, privileges and datastores for machines of this kind. Returns what their hosts
    must reach, and the bytes of a machine's disks on its own datastore.

    Raises:
        VsphereError: something does not hold.
    """
    session, settings, found = work.session, work.settings, work.place
    check_api(session, settings)
    check_cluster(settings, found)
    template = observe(session, found.template)
    if template is None:
        raise VsphereError(
            Code.NOT_FOUND, f"template {settings.place.template} is gone", "name another template"
        )
    check_template(settings, template)
    check_privileges(work, template)
    check_description(session, settings)
    stores = check_storage(work, template, count)
    wanted = (wish.network for wish in found.adapters if wish.network is not None)
    networks = frozenset(str(network.reference._moId) for network in wanted)
    return RequiredAccess(stores, networks), sizes(settings, template)[None]


def validate_new(
    session: Session, absent: Sequence[NodeSettings], leaving: frozenset[str]
) -> list[str]:
    """What prevents making these machines of one group, each reason once.

    Args:
        session: Login.
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
                _validate_name(work_on(session, settings), reasons)
            _validate_place(session, absent, leaving, reasons)
    except VsphereError as failure:
        reasons.append(str(failure))
    return reasons


def _validate_name(work: MachineWork, reasons: list[str]) -> None:
    """A stranger with the machine's name is a reason. A machine that is being cloned may be shown
    without its configuration (API reference of VirtualMachine.config): it is waited for later."""
    settings = work.settings
    try:
        live = work.named()
    except VsphereError as failure:
        unreadable = failure.code is Code.UNREADABLE
        if unreadable and settings.name in clones_in_flight(work.session):
            return
        raise
    if live is not None and live.instance_uuid != settings.adopt:
        known = work.standing(live)
        if known in (Standing.COPY, Standing.FOREIGN):
            reasons.append(str(_name_taken(settings, live)))


def _validate_place(
    session: Session, absent: Sequence[NodeSettings], leaving: frozenset[str], reasons: list[str]
) -> None:
    work = work_on(session, absent[0])
    try:
        reach, _ = check_before(work, len(absent))
        group = group_of(work)
    except VsphereError as failure:
        reasons.append(str(failure))
        return
    inventory = read_inventory(session, work.datacenter, work.place.compute).without(leaving)
    reasons += without_place(inventory, absent, reach, group)


def without_place(
    inventory: Inventory,
    absent: Sequence[NodeSettings],
    reach: RequiredAccess,
    group: DrsGroup | None = None,
) -> list[str]:
    """Why not all of these machines find a place together: a reason for each kind of them."""
    reasons: list[str] = []
    kinds: dict[tuple[GpuAttachment, tuple[str, ...]], list[NodeSettings]] = {}
    for settings in sorted(absent, key=most_bound_first):
        kinds.setdefault((settings.gpu, settings.place.hosts), []).append(settings)
    for alike in kinds.values():
        try:
            placement = choose_hosts(inventory, alike[0], reach, group, len(alike))
        except VsphereError as failure:
            reasons.append(str(failure))
            continue
        wish, hosts = wish_for(alike[0], reach, group), inventory.by_name()
        coming: dict[str, tuple[MachineHolding, ...]] = {}
        for settings, name in zip(alike, placement.hosts, strict=True):
            held = wish.holding(settings.name, hosts[name], settings.name)
            coming[name] = (*coming.get(name, ()), held)
        inventory = inventory.with_holdings(coming)
    return reasons


ON_FOLDER = (
    "VirtualMachine.Inventory.CreateFromExisting",
    "VirtualMachine.Inventory.Delete",
    "VirtualMachine.Config.AddRemoveDevice",
    "VirtualMachine.Config.AdvancedConfig",
    "VirtualMachine.Config.CPUCount",
    "VirtualMachine.Config.DiskExtend",
    "VirtualMachine.Config.EditDevice",
    "VirtualMachine.Config.Memory",
    "VirtualMachine.Config.Resource",
    "VirtualMachine.Config.Settings",
    "VirtualMachine.Interact.PowerOff",
    "VirtualMachine.Interact.PowerOn",
)
"""On the machine's folder: it has them from there."""
WHERE_DECLARED = {
    "extra_disks": ("VirtualMachine.Config.AddNewDisk", "VirtualMachine.Config.RemoveDisk"),
    "annotation": ("VirtualMachine.Config.Annotation",),
    "custom_attributes": ("Global.SetCustomField",),
    "tags": ("InventoryService.Tagging.AttachTag",),
}
"""On the folder too, where these are declared."""
FOR_UPGRADE = "VirtualMachine.Config.UpgradeVirtualHardware"
ON_POOL = ("Resource.AssignVMToPool",)
ON_DATASTORE = ("Datastore.AllocateSpace",)
ON_NETWORK = ("Network.Assign",)
ON_CLUSTER = ("Host.Inventory.EditCluster",)
"""Where vmGroup, drsBehavior or separateHosts is declared."""
ON_TEMPLATE = ("VirtualMachine.Provisioning.DeployTemplate",)
ON_SOURCE_MACHINE = ("VirtualMachine.Provisioning.Clone",)
"""The template, where it is a machine that is switched off."""


def check_privileges(work: MachineWork, template: Observed) -> None:
    """Refuse when a privilege is missing. All of them at once, each with its object.

    Asked once for a place and a login: rights seldom change in the middle of a run.

    Raises:
        VsphereError: privileges are missing.
    """
    session, settings, found = work.session, work.settings, work.place
    own = (rights for name, rights in WHERE_DECLARED.items() if getattr(settings, name))
    upgraded = (settings.hardware_version or 0) > template.hardware_version
    on_folder = [*ON_FOLDER, *itertools.chain(*own), *((FOR_UPGRADE,) if upgraded else ())]
    asked: list[tuple[Any, Sequence[str]]] = [
        (found.folder, on_folder),
        (found.pool, ON_POOL),
        (found.template, ON_TEMPLATE if template.is_template else ON_SOURCE_MACHINE),
    ]
    asked += [(item, ON_DATASTORE) for item in _stores(found, template)]
    networks = [wish.network.reference for wish in found.adapters if wish.network is not None]
    asked += [(network, ON_NETWORK) for network in dict.fromkeys(networks)]
    if settings.vm_group or settings.drs_behavior or settings.separate_hosts:
        asked.append((found.compute, ON_CLUSTER))
    known = ("privileges", *((str(item._moId), tuple(names)) for item, names in asked))
    if known in session.checked:
        return
    granted = _granted(session, [item for item, _ in asked], {p for _, ps in asked for p in ps})
    lacking: list[str] = []
    for item, privileges in asked:
        missing = [name for name in privileges if (str(item._moId), name) not in granted]
        if missing:
            lacking.append(f"{', '.join(missing)} on {inventory_path(session, item)}")
    if lacking:
        raise VsphereError(
            Code.PERMISSION,
            f"the user lacks {'; '.join(lacking)}",
            "grant them to the user in a role on these objects, with propagation",
        )
    session.checked.add(known)


def _stores(found: FoundPlace, template: Observed) -> list[Any]:
    """Datastores, or the cluster of them, that disks will be on."""
    own = found.pod or found.datastore or next(iter(template.datastores), None)
    further = [store.reference for store in found.disk_stores.values()]
    return list(dict.fromkeys(item for item in (own, *further) if item is not None))


def _granted(session: Session, items: list[Any], privileges: set[str]) -> set[tuple[str, str]]:
    """Object and privilege, for what the user has."""
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
