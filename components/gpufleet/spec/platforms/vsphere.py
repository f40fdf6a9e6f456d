"""What only vSphere needs to know of a pool."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

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
"""First virtual hardware version with a topology of its own (VMware, vSphere 8.0 Resource
Management, "Using virtual topology", read 2026-11-23)."""

GuestId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{1,79}$")]
"""Guest operating system as vCenter spells it: `ubuntu64Guest`, `rhel9_64Guest`."""

OWNED_PREFIXES = ("guestinfo.", "pcipassthru.", "gpufleet.")
"""Extra configuration that gpufleet writes itself, compared in lower case."""


def owned_keys(extra_config: Iterable[str]) -> list[str]:
    """Keys among these that gpufleet writes itself, sorted."""
    return sorted(key for key in extra_config if key.lower().startswith(OWNED_PREFIXES))


Note = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
"""Text that people read in vCenter, 1 to 4096 characters."""

InventoryName = Annotated[str, StringConstraints(min_length=1, max_length=80)]
"""Name of an object of vCenter, 1 to 80 characters."""


class VsphereTag(SpecModel):
    """A tag of vCenter, by its category and its name."""

    category: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """Name of its category, 1 to 256 characters."""
    name: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """1 to 256 characters."""


class VsphereUpdatePolicy(StrEnum):
    """What a change may do to machines that run."""

    REFUSE = "refuse"
    """End with an error that names the properties: pods run there."""
    RESTART = "restart"
    """Shut down, change, power on. Drain the node first."""
    REPLACE = "replace"
    """End the machine and make another one. Without it, a change that only another machine can have
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
    """How far a new machine must come before it counts as made."""

    POWER_ON = "powerOn"
    """It runs; the default."""
    TOOLS = "tools"
    """Its VMware tools run."""
    ADDRESS = "address"
    """Its guest reports an address that others can reach."""
    JOINED = "joined"
    """The join script that gpufleet writes has said that it is done; then the first-boot data is
    taken out of vCenter."""


class VsphereMachine(SpecModel):
    """One machine that is named instead of counted."""

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length=1, max_length=40),
    ]
    """Last part of its name, in place of a number: `rack2`. It is its identity: another name is
    another machine."""
    hosts: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Hosts that may be used. Default: the pool's."""
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(max_length=16)] = ()
    """With `attachment: passthrough`, its devices, where they differ from the pool's."""
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
    all its memory is reserved, it does not move while it runs, and it has no snapshots."""

    device_ids: Annotated[tuple[PciDeviceId, ...], Field(max_length=8)] = ()
    """PCI device ids that will do, `1021` of a ConnectX-7: any free device by Dynamic DirectPath
    I/O. These or `pciAddresses`."""
    hardware_label: str = Field(default="", max_length=80)
    """With `deviceIds`, label the device must carry on its host. Default: none."""
    count: int = Field(default=1, ge=1, le=8)
    """With `deviceIds`, devices of each machine, 1 to 8. Default 1."""
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(max_length=8)] = ()
    """Devices of each machine, at the same addresses on every host: then a host has one such
    machine."""

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        if bool(self.device_ids) == bool(self.pci_addresses):
            raise ValueError("write deviceIds or pciAddresses, one of them")
        if self.pci_addresses and (self.hardware_label or self.count > 1):
            raise ValueError("hardwareLabel and count go with deviceIds: remove them")
        return self


class VspherePlaceOptions(SpecModel):
    """Where machines go: what a pool and each of its machines have alike."""

    template: str = Field(min_length=1, max_length=200)
    """Name of the virtual machine template to clone: EFI firmware; hardware version 17 or later for
    dynamicDirectPath, where `hardwareVersion` does not say it."""
    datastore: str | None = Field(default=None, min_length=1, max_length=200)
    """Datastore of the machine's disks. Default: the template's."""
    datastore_cluster: str | None = Field(default=None, min_length=1, max_length=200)
    """Datastore cluster instead: each machine goes to the datastore in it that its host mounts and
    that has most room when it is made. Default: none."""
    storage_policy: str | None = Field(default=None, min_length=1, max_length=80)
    """Storage policy of each machine, by name: of its own files and of the disks that name no
    datastore. Datastores that do not comply are not used. Default: the datastore's own."""
    folder: str | None = None
    """Folder the machines are in. Default: the datacenter's own."""
    hosts: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Hosts of the cluster that may be used, by name. Default: all."""
    deny_hosts: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Hosts of the cluster that must not be used, by name. Default: none."""


class VsphereMachineOptions(SpecModel):
    """What machines are: what a pool and each of its machines have alike."""

    cpus: int = Field(ge=1, le=768)
    """Virtual CPUs of each machine, 1 to 768."""
    cores_per_socket: int | None = Field(default=None, ge=1, le=768)
    """Virtual CPUs of each socket, by which `cpus` can be divided. Default: the template's."""
    cores_per_numa_node: int | None = Field(default=None, ge=1, le=768)
    """Virtual CPUs of each virtual NUMA node, by which `cpus` can be divided: vSphere 8.0 and
    hardware version 20. Changes while the machine is off. Default: the template's, and where it has
    none the host decides."""
    cpu_reservation_mhz: int | None = Field(default=None, ge=0, le=10_000_000)
    """Processor time that a host keeps for each machine, in MHz; 0 reserves none. Default: the
    template's, and with `latencySensitivity: high` all of it."""
    cpu_shares: CpuShares | None = None
    """Weight of a machine's processor time where a host has too little for all. Default: the
    template's."""
    hardware_version: HardwareVersion | None = None
    """Virtual hardware version of each machine, 9 to 99: 20 comes with vSphere 8.0. A machine of an
    older one is upgraded while it is off, and there is no way back. Default: the template's."""
    guest_id: GuestId | None = None
    """Guest operating system that the template must have, as vCenter spells it: `ubuntu64Guest`.
    It is never changed. Default: whatever the template has."""
    annotation: Note | None = None
    """Notes of each machine, 1 to 4096 characters. Default: the template's."""
    custom_attributes: Annotated[dict[InventoryName, Note], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Values of vCenter's custom attributes, at most 64; the attributes must exist. Others that a
    machine has are left alone. Default: none."""
    tags: Annotated[tuple[VsphereTag, ...], Field(max_length=64)] = ()
    """Tags of each machine, at most 64; they must exist. Others that a machine has are left alone.
    Default: none."""
    mmio_gib: int | None = Field(default=None, ge=1, le=65_536)
    """64-bit MMIO window of each machine. Default: computed from the GPUs' memory."""
    latency_sensitivity: LatencySensitivity = LatencySensitivity.NORMAL
    """Whether virtual CPUs get cores of their own. Changes while the machine is off. Default
    normal."""
    extra_disks: Annotated[tuple[VsphereDisk, ...], Field(max_length=MOST_DISKS)] = ()
    """Disks of each machine next to the template's, at most 14. One more, or a larger one, comes
    while the machine runs; one less needs it off. Default: none."""
    nics: VsphereNics | None = None
    """NICs by passthrough, which `fabric: rdma` uses. Change while the machine is off. Default:
    none."""
    extra_config: Annotated[dict[str, str], Field(max_length=256)] = Field(
        default_factory=dict[str, str]
    )
    """Further keys of each machine's configuration, at most 256; those under `guestinfo.`,
    `pciPassthru.` and `gpufleet.` are gpufleet's. Change while the machine is off. Default: none.
    """
    max_per_host: int | None = Field(default=None, ge=1, le=64)
    """Anti-affinity: most machines of the pool on one host, 1 to 64. Validated when a machine is
    made. Default: no limit."""
    separate_hosts: Literal["preferred", "required"] | None = None
    """DRS anti-affinity rule of the pool's machines: DRS keeps them on different hosts where it can
    (`preferred`), or does not start and move them otherwise (`required`). gpufleet makes the rule
    and removes it with the pool. Default: no rule."""
    vm_group: str | None = Field(default=None, min_length=1, max_length=80)
    """DRS group of virtual machines that each machine is put into; it must exist. Hosts follow the
    cluster's mandatory rules for that group. Default: none."""
    drs_behavior: DrsBehavior | None = None
    """What DRS may do with each machine. Default: as with others of the cluster."""
    replace_not_ready_minutes: int | None = Field(default=None, ge=5, le=10_080)
    """A machine whose node has not been Ready for so many minutes, 5 to 10080, is made anew by the
    next update that refreshes the state. Needs the connection's `kubernetes`. Default: never."""
    wait_for: VsphereWaitFor = VsphereWaitFor.POWER_ON
    """How far a new machine must come before it counts. Default powerOn."""
    update_policy: VsphereUpdatePolicy = VsphereUpdatePolicy.REFUSE
    """What a change may do to machines that run. Default refuse."""
    ignore_user_data_changes: bool = False
    """Whether other first-boot data leaves machines that exist as they are. Default false: it makes
    them anew."""
    on_create_failure: CreateFailure = CreateFailure.DELETE
    """What becomes of a machine whose making failed. Default delete."""
    delete_policy: DeletePolicy = DeletePolicy.TRY_SOFT
    """How a running machine is stopped before it is destroyed. Default trySoft."""
    timeouts: VsphereTimeouts = Field(default_factory=VsphereTimeouts)
    """Longest each step may take."""


class VsphereOptions(VspherePlaceOptions, VsphereMachineOptions):
    """What only vSphere needs to know."""

    memory_gib: int = Field(ge=4, le=24_576)
    """Fully reserved: DirectPath and vGPU machines cannot overcommit memory."""
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(max_length=16)] = ()
    """With `attachment: passthrough`, the devices of each machine, at the same addresses on every
    host; as many as `gpusPerNode`. Where hosts differ, `machines` has them one by one. Not allowed
    otherwise."""
    device_ids: Annotated[tuple[PciDeviceId, ...], Field(max_length=8)] = ()
    """With `attachment: dynamicDirectPath`, PCI device ids that will do. Default: the catalogue's
    for the pool's GPU."""
    board: Literal["sxm", "pcie", "nvl"] | None = None
    """With `attachment: dynamicDirectPath`, which boards of the GPU will do: their PCI device
    ids are the catalogue's. Default: all of them."""
    hardware_label: str = Field(default="", max_length=80)
    """With `attachment: dynamicDirectPath`, label the device must carry on its host. Default:
    none."""
    rollout_width: int = Field(default=4, ge=1, le=64)
    """Machines that are changed, replaced or removed at the same time, 1 to 64, after the first
    one, which goes alone. Default 4. The engine's own `--parallel` bounds it too."""
    creation_width: int = Field(default=16, ge=1, le=64)
    """Machines that are made at the same time when the pool grows, 1 to 64. Default 16; vCenter
    queues what its hosts cannot clone at once."""
    exclude: Annotated[tuple[Ordinal, ...], Field(max_length=1000)] = ()
    """Numbers that no machine has. To remove machine 1 of 3: `nodes` 2 and `exclude: [1]`; 0 and 2
    stay as they are. Default: none."""
    machines: Annotated[tuple[VsphereMachine, ...], Field(max_length=1000)] = ()
    """The machines by name, as many as `nodes.min`, in place of numbers. Default: numbers."""
    adopt: Annotated[dict[str, MachineUuid], Field(max_length=1000)] = Field(
        default_factory=dict[str, str]
    )
    """Machines of gpufleet that another stack made, or this one before its state was lost, and that
    become machines of this pool as they are: number or name -> vCenter's instance uuid. Default:
    none; a machine of another stack is never touched."""
    attachment: Attachment = Attachment.DYNAMIC_DIRECT_PATH
    """How the GPU gets into the machine. Default dynamicDirectPath."""
    networks: Annotated[tuple[VsphereNetwork, ...], Field(max_length=MOST_NETWORKS)] = ()
    """All network adapters of each machine, at most 10, in place of the connection's `network`: the
    template's are taken for them in order, and further ones removed. Default: the template's, the
    first of them on the connection's `network`."""
