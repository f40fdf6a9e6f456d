"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.platforms.vsphere`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.spelled_as_files.vsphere_devices import VsphereDiskDict, VsphereNetworkDict
from gpufleet.arguments.spelled_as_files.vsphere_policy import VsphereTimeoutsDict
from gpufleet.arguments.vsphere import VsphereTagArgs
from gpufleet.arguments.words import (
    AttachmentWord,
    CpuSharesWord,
    CreateFailureWord,
    DeletePolicyWord,
    DrsBehaviorWord,
    LatencySensitivityWord,
    VsphereOptionsBoardWord,
    VsphereOptionsSeparateHostsWord,
    VsphereUpdatePolicyWord,
    VsphereWaitForWord,
)


class VsphereNicsDict(TypedDict):
    """NICs of NVIDIA (ConnectX, BlueField) that each machine has by passthrough. As with its
    GPUs, all its memory is reserved, it cannot move while it runs, and it has no snapshots."""

    deviceIds: NotRequired[Sequence[str]]
    """Accepted PCI device ids, `1021` of a ConnectX-7: any free device by Dynamic DirectPath I/O.
    These or `pciAddresses`."""
    hardwareLabel: NotRequired[str]
    """With `deviceIds`, label the device must carry on its host. Default: none."""
    count: NotRequired[int]
    """With `deviceIds`, devices of each machine, 1 to 8. Default 1."""
    pciAddresses: NotRequired[Sequence[str]]
    """Devices of each machine, at the same addresses on every host: a host then has one such
    machine."""


class VsphereMachineDict(TypedDict):
    """One machine with a name instead of a number."""

    name: str
    """Last part of its name, in place of a number: `rack2`. It is its identity: another name is
    another machine."""
    hosts: NotRequired[Sequence[str]]
    """Allowed hosts. Default: the pool's."""
    pciAddresses: NotRequired[Sequence[str]]
    """With `attachment: passthrough`, its devices, if they differ from the pool's."""
    addresses: NotRequired[Sequence[str]]
    """Its addresses: one for each of `networks` that has `addresses`, in their order."""


class VsphereOptionsDict(TypedDict):
    """Settings for vSphere only."""

    cpus: int
    """Virtual CPUs of each machine, 1 to 768."""
    coresPerSocket: NotRequired[int]
    """Virtual CPUs of each socket; a divisor of `cpus`. Default: the template's."""
    coresPerNumaNode: NotRequired[int]
    """Virtual CPUs of each virtual NUMA node; a divisor of `cpus`: vSphere 8.0 and hardware
    version 20. It changes while the machine is off. Default: the template's, and if it has none
    the host decides."""
    cpuReservationMhz: NotRequired[int]
    """CPU reservation of each machine in MHz; 0 reserves none. Default: the template's, and with
    `latencySensitivity: high` all of it."""
    cpuShares: NotRequired[CpuSharesWord]
    """One of `low`, `normal`, `high`. Weight of a machine's CPU time if a host is overcommitted.
    Default: the template's."""
    hardwareVersion: NotRequired[int]
    """Virtual hardware version of each machine, 9 to 99: vSphere 8.0 introduced 20. An older
    machine is upgraded while it is off, which cannot be undone. Default: the template's."""
    guestId: NotRequired[str]
    """Guest operating system that the template must have, in vCenter's spelling: `ubuntu64Guest`.
    It is never changed. Default: any."""
    annotation: NotRequired[str]
    """Notes of each machine, 1 to 4096 characters. Default: the template's."""
    customAttributes: NotRequired[Mapping[str, str]]
    """Values of vCenter's custom attributes, at most 64; the attributes must exist. Other
    attributes of a machine are not changed. Default: none."""
    tags: NotRequired[Sequence[VsphereTagArgs]]
    """Tags of each machine, at most 64; they must exist. Other tags of a machine are not changed.
    Default: none."""
    mmioGib: NotRequired[int]
    """64-bit MMIO window of each machine. Default: computed from the GPUs' memory."""
    latencySensitivity: NotRequired[LatencySensitivityWord]
    """One of `normal`, `high`. Whether virtual CPUs get exclusive cores. It changes while the
    machine is off. Default normal."""
    extraDisks: NotRequired[Sequence[VsphereDiskDict]]
    """Disks of each machine in addition to the template's, at most 14. Adding or enlarging one
    works while the machine runs; removing one needs it off. Default: none."""
    nics: NotRequired[VsphereNicsDict]
    """NICs by passthrough, which `fabric: rdma` uses. They change while the machine is off.
    Default: none."""
    extraConfig: NotRequired[Mapping[str, str]]
    """Additional keys of each machine's configuration, at most 256; gpufleet owns those under
    `guestinfo.`, `pciPassthru.` and `gpufleet.`. Change while the machine is off. Default:
    none."""
    maxPerHost: NotRequired[int]
    """Anti-affinity: maximum number of machines of the pool on one host, 1 to 64. Validated when
    a machine is created. Default: no limit."""
    separateHosts: NotRequired[VsphereOptionsSeparateHostsWord]
    """One of `preferred`, `required`. DRS anti-affinity rule of the pool's machines: DRS keeps
    them on different hosts if possible (`preferred`), or otherwise does not start or move them
    (`required`). gpufleet creates the rule and removes it with the pool. Default: no rule."""
    vmGroup: NotRequired[str]
    """DRS group of virtual machines to which each machine is added; it must exist. Hosts follow
    the cluster's mandatory rules for that group. Default: none."""
    drsBehavior: NotRequired[DrsBehaviorWord]
    """One of `fullyAutomated`, `partiallyAutomated`, `manual`, `disabled`. DRS automation of each
    machine. Default: as the cluster's."""
    replaceNotReadyMinutes: NotRequired[int]
    """A machine whose node has not been Ready for this number of minutes, 5 to 10080, is replaced
    by the next update that refreshes the state. Needs the connection's `kubernetes`. Default:
    never."""
    waitFor: NotRequired[VsphereWaitForWord]
    """One of `powerOn`, `tools`, `address`, `joined`. Stage at which a new machine counts as
    created. Default powerOn."""
    updatePolicy: NotRequired[VsphereUpdatePolicyWord]
    """One of `refuse`, `restart`, `replace`. Allowed effects of a change on running machines.
    Default refuse."""
    ignoreUserDataChanges: NotRequired[bool]
    """Whether changed first-boot data leaves existing machines unchanged. Default false: they are
    replaced."""
    onCreateFailure: NotRequired[CreateFailureWord]
    """One of `delete`, `keep`. Handling of a machine whose creation failed. Default delete."""
    deletePolicy: NotRequired[DeletePolicyWord]
    """One of `trySoft`, `hard`. How a running machine is stopped before it is destroyed. Default
    trySoft."""
    timeouts: NotRequired[VsphereTimeoutsDict]
    """Maximum time of each step."""
    template: str
    """Name of the virtual machine template to clone: EFI firmware; hardware version 17 or later
    for dynamicDirectPath, unless `hardwareVersion` sets it."""
    datastore: NotRequired[str]
    """Datastore of the machine's disks. Default: the template's."""
    datastoreCluster: NotRequired[str]
    """Datastore cluster instead: each machine is created on the datastore of it that its host
    mounts and that has most free space. Default: none."""
    storagePolicy: NotRequired[str]
    """Storage policy of each machine, by name: of its own files and of the disks without a
    datastore. Datastores that do not comply are not used. Default: the datastore's own."""
    folder: NotRequired[str]
    """Folder of the machines. Default: the datacenter's own."""
    hosts: NotRequired[Sequence[str]]
    """Allowed hosts of the cluster, by name. Default: all."""
    denyHosts: NotRequired[Sequence[str]]
    """Excluded hosts of the cluster, by name. Default: none."""
    memoryGib: int
    """Fully reserved: DirectPath and vGPU machines cannot overcommit memory."""
    pciAddresses: NotRequired[Sequence[str]]
    """With `attachment: passthrough`, the devices of each machine, at the same addresses on every
    host; their number equals `gpusPerNode`. If hosts differ, `machines` lists them one by one.
    Not allowed otherwise."""
    deviceIds: NotRequired[Sequence[str]]
    """With `attachment: dynamicDirectPath`, accepted PCI device ids. Default: the catalogue's for
    the pool's GPU."""
    board: NotRequired[VsphereOptionsBoardWord]
    """One of `sxm`, `pcie`, `nvl`. With `attachment: dynamicDirectPath`, accepted boards of the
    GPU: their PCI device ids are in the catalogue. Default: all of them."""
    hardwareLabel: NotRequired[str]
    """With `attachment: dynamicDirectPath`, label the device must carry on its host. Default:
    none."""
    rolloutWidth: NotRequired[int]
    """Machines that are changed, replaced or removed at the same time, 1 to 64, after the first
    one, which is processed alone. Default 4. The engine's `--parallel` also limits it."""
    creationWidth: NotRequired[int]
    """Machines that are created at the same time when the pool grows, 1 to 64. Default 16;
    vCenter queues clones beyond the capacity of its hosts."""
    exclude: NotRequired[Sequence[int]]
    """Numbers without a machine. To remove machine 1 of 3: `nodes` 2 and `exclude: [1]`; 0 and 2
    stay unchanged. Default: none."""
    machines: NotRequired[Sequence[VsphereMachineDict]]
    """The machines by name, `nodes.min` of them, in place of numbers. Default: numbers."""
    adopt: NotRequired[Mapping[str, str]]
    """Machines of gpufleet from another stack, or from this stack before its state was lost, that
    become machines of this pool unchanged: number or name -> vCenter's instance uuid. Default:
    none; a machine of another stack is never changed."""
    attachment: NotRequired[AttachmentWord]
    """One of `passthrough`, `dynamicDirectPath`, `vgpu`. How the GPU is attached to the machine.
    Default dynamicDirectPath."""
    networks: NotRequired[Sequence[VsphereNetworkDict]]
    """All network adapters of each machine, at most 10, instead of the connection's `network`:
    the template's adapters are used for them in order, and the others removed. Default: the
    template's, the first of them on the connection's `network`."""
