"""Settings of a pool for vSphere only."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpufleet.spec.base import SpecModel
from gpufleet.spec.platforms.vsphere_devices import (
    MOST_DISKS,
    MOST_NETWORKS,
    DrsBehavior,
    IpAddress,
    VsphereDisk,
    VsphereNetwork,
)
from gpufleet.spec.platforms.vsphere_policy import (
    CpuShares,
    CreateFailure,
    DeletePolicy,
    LatencySensitivity,
    VsphereTimeouts,
)

PciAddress = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")
]
"""Address of a PCI device on its host: `0000:3b:00.0`."""

PciDeviceId = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{4}$")]
"""PCI device id: four hexadecimal digits, `20b5`."""


HardwareVersion = Annotated[int, Field(ge=9, le=99)]
"""Number of a virtual hardware version: 20 of `vmx-20`. GPUs need 9 or later."""

DYNAMIC_HARDWARE = 17
"""First virtual hardware version with Dynamic DirectPath I/O (VMware's and Cluster API's
documentation of assignable hardware, read 2026-11-21)."""

NUMA_HARDWARE = 20
"""First virtual hardware version with a configurable topology (VMware, vSphere 8.0 Resource
Management, "Using virtual topology", read 2026-11-23)."""

GuestId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{1,79}$")]
"""Guest operating system in vCenter's spelling: `ubuntu64Guest`, `rhel9_64Guest`."""

OWNED_PREFIXES = ("guestinfo.", "pcipassthru.", "gpufleet.")
"""Extra configuration that gpufleet writes, compared in lower case."""


def owned_keys(extra_config: Iterable[str]) -> list[str]:
    """The keys among these that gpufleet writes, sorted."""
    return sorted(key for key in extra_config if key.lower().startswith(OWNED_PREFIXES))


Note = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
"""Notes in vCenter, 1 to 4096 characters."""

InventoryName = Annotated[str, StringConstraints(min_length=1, max_length=80)]
"""Name of an object of vCenter, 1 to 80 characters."""


class VsphereTag(SpecModel):
    """A tag of vCenter, by its category and its name."""

    category: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """Name of its category, 1 to 256 characters."""
    name: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """1 to 256 characters."""


class VsphereUpdatePolicy(StrEnum):
    """Allowed effects of a change on running machines."""

    REFUSE = "refuse"
    """Stop with an error that names the properties: the machines run pods."""
    RESTART = "restart"
    """Shut down, change, power on. Drain the node first."""
    REPLACE = "replace"
    """Delete the machine and create another one. Without it, a change that needs a new machine
    (template, name, first-boot data, addresses) is refused, too."""


class Attachment(StrEnum):
    """How a vSphere virtual machine gets its GPU."""

    PASSTHROUGH = "passthrough"
    """A fixed PCI device of one host."""
    DYNAMIC_DIRECT_PATH = "dynamicDirectPath"
    """Any free device of the kind; the default."""
    VGPU = "vgpu"
    """A vGPU profile, named in `sharing.vgpu`."""


class VsphereWaitFor(StrEnum):
    """Stage at which a new machine counts as created."""

    POWER_ON = "powerOn"
    """It runs; the default."""
    TOOLS = "tools"
    """Its VMware tools run."""
    ADDRESS = "address"
    """Its guest reports an address that is reachable from outside."""
    JOINED = "joined"
    """gpufleet's join script has reported success; then the first-boot data is removed from
    vCenter."""


class VsphereMachine(SpecModel):
    """One machine with a name instead of a number."""

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=40),
    ]
    """Last part of its name, in place of a number: `rack2`. It is its identity: another name is
    another machine."""
    hosts: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Allowed hosts. Default: the pool's."""
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(max_length=16)] = ()
    """With `attachment: passthrough`, its devices, if they differ from the pool's."""
    addresses: Annotated[tuple[IpAddress, ...], Field(max_length=MOST_NETWORKS)] = ()
    """Its addresses: one for each of `networks` that has `addresses`, in their order."""


MachineUuid = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
]
"""vCenter's instance uuid of a machine."""

Ordinal = Annotated[int, Field(ge=0, le=99_999)]
"""Number of a machine in its pool."""


class VsphereNics(SpecModel):
    """NICs of NVIDIA (ConnectX, BlueField) that each machine has by passthrough. As with its GPUs,
    all its memory is reserved, it cannot move while it runs, and it has no snapshots."""

    device_ids: Annotated[tuple[PciDeviceId, ...], Field(max_length=8)] = ()
    """Accepted PCI device ids, `1021` of a ConnectX-7: any free device by Dynamic DirectPath
    I/O. These or `pciAddresses`."""
    hardware_label: str = Field(default="", max_length=80)
    """With `deviceIds`, label the device must carry on its host. Default: none."""
    count: int = Field(default=1, ge=1, le=8)
    """With `deviceIds`, devices of each machine, 1 to 8. Default 1."""
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(max_length=8)] = ()
    """Devices of each machine, at the same addresses on every host: a host then has one such
    machine."""


class VspherePlaceOptions(SpecModel):
    """Placement of machines: common settings of a pool and its single machines."""

    template: str = Field(min_length=1, max_length=200)
    """Name of the virtual machine template to clone: EFI firmware; hardware version 17 or later for
    dynamicDirectPath, unless `hardwareVersion` sets it."""
    datastore: str | None = Field(default=None, min_length=1, max_length=200)
    """Datastore of the machine's disks. Default: the template's."""
    datastore_cluster: str | None = Field(default=None, min_length=1, max_length=200)
    """Datastore cluster instead: each machine is created on the datastore of it that its host
    mounts and that has most free space. Default: none."""
    storage_policy: str | None = Field(default=None, min_length=1, max_length=80)
    """Storage policy of each machine, by name: of its own files and of the disks without a
    datastore. Datastores that do not comply are not used. Default: the datastore's own."""
    folder: str | None = None
    """Folder of the machines. Default: the datacenter's own."""
    hosts: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Allowed hosts of the cluster, by name. Default: all."""
    deny_hosts: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Excluded hosts of the cluster, by name. Default: none."""


class VsphereMachineOptions(SpecModel):
    """Properties of machines: common settings of a pool and its single machines."""

    cpus: int = Field(ge=1, le=768)
    """Virtual CPUs of each machine, 1 to 768."""
    cores_per_socket: int | None = Field(default=None, ge=1, le=768)
    """Virtual CPUs of each socket; a divisor of `cpus`. Default: the template's."""
    cores_per_numa_node: int | None = Field(default=None, ge=1, le=768)
    """Virtual CPUs of each virtual NUMA node; a divisor of `cpus`: vSphere 8.0 and hardware version
    20. It changes while the machine is off. Default: the template's, and if it has none the host
    decides."""
    cpu_reservation_mhz: int | None = Field(default=None, ge=0, le=10_000_000)
    """CPU reservation of each machine in MHz; 0 reserves none. Default: the template's, and with
    `latencySensitivity: high` all of it."""
    cpu_shares: CpuShares | None = None
    """Weight of a machine's CPU time if a host is overcommitted. Default: the template's."""
    hardware_version: HardwareVersion | None = None
    """Virtual hardware version of each machine, 9 to 99: vSphere 8.0 introduced 20. An older
    machine is upgraded while it is off, which cannot be undone. Default: the template's."""
    guest_id: GuestId | None = None
    """Guest operating system that the template must have, in vCenter's spelling: `ubuntu64Guest`.
    It is never changed. Default: any."""
    annotation: Note | None = None
    """Notes of each machine, 1 to 4096 characters. Default: the template's."""
    custom_attributes: Annotated[dict[InventoryName, Note], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Values of vCenter's custom attributes, at most 64; the attributes must exist. Other
    attributes of a machine are not changed. Default: none."""
    tags: Annotated[tuple[VsphereTag, ...], Field(max_length=64)] = ()
    """Tags of each machine, at most 64; they must exist. Other tags of a machine are not changed.
    Default: none."""
    mmio_gib: int | None = Field(default=None, ge=1, le=65_536)
    """64-bit MMIO window of each machine. Default: computed from the GPUs' memory."""
    latency_sensitivity: LatencySensitivity = LatencySensitivity.NORMAL
    """Whether virtual CPUs get exclusive cores. It changes while the machine is off. Default
    normal."""
    extra_disks: Annotated[tuple[VsphereDisk, ...], Field(max_length=MOST_DISKS)] = ()
    """Disks of each machine in addition to the template's, at most 14. Adding or enlarging one
    works while the machine runs; removing one needs it off. Default: none."""
    nics: VsphereNics | None = None
    """NICs by passthrough, which `fabric: rdma` uses. They change while the machine is off.
    Default: none."""
    extra_config: Annotated[dict[str, str], Field(max_length=256)] = Field(
        default_factory=dict[str, str]
    )
    """Additional keys of each machine's configuration, at most 256; gpufleet owns those under
    `guestinfo.`, `pciPassthru.` and `gpufleet.`. Change while the machine is off. Default: none.
    """
    max_per_host: int | None = Field(default=None, ge=1, le=64)
    """Anti-affinity: maximum number of machines of the pool on one host, 1 to 64. Validated when a
    machine is created. Default: no limit."""
    separate_hosts: Literal["preferred", "required"] | None = None
    """DRS anti-affinity rule of the pool's machines: DRS keeps them on different hosts if possible
    (`preferred`), or otherwise does not start or move them (`required`). gpufleet creates the
    rule and removes it with the pool. Default: no rule."""
    vm_group: str | None = Field(default=None, min_length=1, max_length=80)
    """DRS group of virtual machines to which each machine is added; it must exist. Hosts follow the
    cluster's mandatory rules for that group. Default: none."""
    drs_behavior: DrsBehavior | None = None
    """DRS automation of each machine. Default: as the cluster's."""
    replace_not_ready_minutes: int | None = Field(default=None, ge=5, le=10_080)
    """A machine whose node has not been Ready for this number of minutes, 5 to 10080, is replaced
    by the next update that refreshes the state. Needs the connection's `kubernetes`. Default:
    never."""
    wait_for: VsphereWaitFor = VsphereWaitFor.POWER_ON
    """Stage at which a new machine counts as created. Default powerOn."""
    update_policy: VsphereUpdatePolicy = VsphereUpdatePolicy.REFUSE
    """Allowed effects of a change on running machines. Default refuse."""
    ignore_user_data_changes: bool = False
    """Whether changed first-boot data leaves existing machines unchanged. Default false: they are
    replaced."""
    on_create_failure: CreateFailure = CreateFailure.DELETE
    """Handling of a machine whose creation failed. Default delete."""
    delete_policy: DeletePolicy = DeletePolicy.TRY_SOFT
    """How a running machine is stopped before it is destroyed. Default trySoft."""
    timeouts: VsphereTimeouts = Field(default_factory=VsphereTimeouts)
    """Maximum time of each step."""


class VsphereOptions(VspherePlaceOptions, VsphereMachineOptions):
    """Settings for vSphere only."""

    memory_gib: int = Field(ge=4, le=24_576)
    """Fully reserved: DirectPath and vGPU machines cannot overcommit memory."""
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(max_length=16)] = ()
    """With `attachment: passthrough`, the devices of each machine, at the same addresses on every
    host; their number equals `gpusPerNode`. If hosts differ, `machines` lists them one by one. Not
    allowed otherwise."""
    device_ids: Annotated[tuple[PciDeviceId, ...], Field(max_length=8)] = ()
    """With `attachment: dynamicDirectPath`, accepted PCI device ids. Default: the catalogue's
    for the pool's GPU."""
    board: Literal["sxm", "pcie", "nvl"] | None = None
    """With `attachment: dynamicDirectPath`, accepted boards of the GPU: their PCI device ids are in
    the catalogue. Default: all of them."""
    hardware_label: str = Field(default="", max_length=80)
    """With `attachment: dynamicDirectPath`, label the device must carry on its host. Default:
    none."""
    rollout_width: int = Field(default=4, ge=1, le=64)
    """Machines that are changed, replaced or removed at the same time, 1 to 64, after the first
    one, which is processed alone. Default 4. The engine's `--parallel` also limits it."""
    creation_width: int = Field(default=16, ge=1, le=64)
    """Machines that are created at the same time when the pool grows, 1 to 64. Default 16; vCenter
    queues clones beyond the capacity of its hosts."""
    exclude: Annotated[tuple[Ordinal, ...], Field(max_length=1000)] = ()
    """Numbers without a machine. To remove machine 1 of 3: `nodes` 2 and `exclude: [1]`; 0 and 2
    stay unchanged. Default: none."""
    machines: Annotated[tuple[VsphereMachine, ...], Field(max_length=1000)] = ()
    """The machines by name, `nodes.min` of them, in place of numbers. Default: numbers."""
    adopt: Annotated[dict[str, MachineUuid], Field(max_length=1000)] = Field(
        default_factory=dict[str, str]
    )
    """Machines of gpufleet from another stack, or from this stack before its state was lost, that
    become machines of this pool unchanged: number or name -> vCenter's instance uuid. Default:
    none; a machine of another stack is never changed."""
    attachment: Attachment = Attachment.DYNAMIC_DIRECT_PATH
    """How the GPU is attached to the machine. Default dynamicDirectPath."""
    networks: Annotated[tuple[VsphereNetwork, ...], Field(max_length=MOST_NETWORKS)] = ()
    """All network adapters of each machine, at most 10, instead of the connection's `network`: the
    template's adapters are used for them in order, and the others removed. Default: the
    template's, the first of them on the connection's `network`."""
