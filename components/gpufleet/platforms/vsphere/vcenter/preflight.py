"""What must hold before a machine is cloned: asked of vCenter, validated without it."""

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.disks import disk_bytes, first_disk
from gpufleet.platforms.vsphere.vcenter.drs import DrsGroup
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.inventory import Inventory, PerGpu
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace
from gpufleet.platforms.vsphere.vcenter.observed import NUMA_API, Observed, observe
from gpufleet.platforms.vsphere.vcenter.placement import (
    MachinePlacement,
    RequiredAccess,
    Wish,
    place,
)
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import (
    DynamicPassthrough,
    FixedPassthrough,
    NodeSettings,
)
from gpufleet.spec.platforms.vsphere import DYNAMIC_HARDWARE, NUMA_HARDWARE
from gpufleet.spec.platforms.vsphere_policy import LatencySensitivity

DYNAMIC_API = (7, 0)
LABEL_API = (7, 0, 2)


def check_api(session: Session, settings: NodeSettings) -> None:
    """Refuse what the server's API would silently drop.

    pyVmomi leaves out fields that are newer than the server, and the machine would come up
    without its GPU.
    """
    needed: list[tuple[str, tuple[int, ...], str]] = []
    if isinstance(settings.gpu, DynamicPassthrough):
        api = LABEL_API if settings.gpu.label else DYNAMIC_API
        needed.append(("dynamic passthrough", api, "use fixed passthrough"))
    if settings.cores_per_numa_node is not None:
        needed.append(("coresPerNumaNode", NUMA_API, "leave it out"))
    for what, api, remedy in needed:
        if session.api_version < api:
            raise VsphereError(
                Code.UNSUPPORTED,
                f"{what} needs vSphere API {_dotted(api)}, and {settings.endpoint.server} speaks "
                f"{_dotted(session.api_version)}",
                f"{remedy}, or use a newer vCenter",
            )


def check_template(settings: NodeSettings, template: Observed) -> None:
    """Refuse a template whose clones could not run with GPUs. All reasons at once."""
    wrong: list[str] = []
    if not template.is_template and template.power != "poweredOff":
        wrong.append(f"it is no template and is {template.power}: power it off")
    if template.firmware != "efi":
        wrong.append(
            f"its firmware is {template.firmware}: GPUs need EFI, and the guest must have been "
            "installed under it"
        )
    version, wanted = template.hardware_version, settings.hardware_version
    if isinstance(settings.gpu, DynamicPassthrough) and max(version, wanted or 0) < (
        DYNAMIC_HARDWARE
    ):
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


def check_name(session: Session, found: FoundPlace, settings: NodeSettings, ours: str) -> None:
    """Refuse a name that another machine of the folder has."""
    index = session.content.searchIndex
    machine = session.call(lambda: index.FindChild(found.folder, settings.name))
    if isinstance(machine, vim.VirtualMachine):
        live = observe(session, machine)
        if live is not None and live.instance_uuid != ours:
            raise name_taken(settings, live)


def name_taken(settings: NodeSettings, live: Observed) -> VsphereError:
    """That the name belongs to another machine, and whose it is."""
    owner = live.extra_config.get("gpufleet.owner", "an unknown owner")
    return VsphereError(
        Code.NAME_TAKEN,
        f"the folder has a machine named {settings.name} ({live.moref}, instance uuid "
        f"{live.instance_uuid}) that belongs to {owner}; the folder is "
        f"{settings.place.folder or 'the root of the datacenter'}",
        "rename one of them, or remove that machine",
    )


def wish_for(
    settings: NodeSettings,
    reach: RequiredAccess,
    group: DrsGroup | None = None,
    count: int = 1,
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
        settings.group,
        (lambda _: True) if group is None else group.allows,
        settings.cpu_reservation_mhz or 0,
        settings.cpus if settings.latency_sensitivity is LatencySensitivity.HIGH else 0,
    )


def choose_hosts(
    inventory: Inventory,
    settings: NodeSettings,
    reach: RequiredAccess,
    per_gpu: PerGpu,
    group: DrsGroup | None = None,
    count: int = 1,
) -> MachinePlacement:
    """Where machines of this kind can go, one if nothing else is reported.

    Raises:
        VsphereError: not all find a place; the text says what each host lacks.
    """
    placement = place(inventory, wish_for(settings, reach, group, count), per_gpu)
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


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
