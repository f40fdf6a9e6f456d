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
    GPUs, all its memory is reserved, it does not move while it runs, and it has no snapshots."""

    deviceIds: NotRequired[Sequence[str]]
    """PCI device ids that will do, `1021` of a ConnectX-7: any free device by Dynamic DirectPath
    I/O. These or `pciAddresses`."""
    hardwareLabel: NotRequired[str]
    """With `deviceIds`, label the device must carry on its host. Default: none."""
    count: NotRequired[int]
    """With `deviceIds`, devices of each machine, 1 to 8. Default 1."""
    pciAddresses: NotRequired[Sequence[str]]
    """Devices of each machine, at the same addresses on every host: then a host has one such
    machine."""


class VsphereMachineDict(TypedDict):
    """One machine that is named instead of counted."""

    name: str
    """Last part of its name, in place of a number: `rack2`. It is its identity: another name is
    another machine."""
    hosts: NotRequired[Sequence[str]]
    """Hosts that may be used. Default: the pool's."""
    pciAddresses: NotRequired[Sequence[str]]
    """With `attachment: passthrough`, its devices, where they differ from the pool's."""
    addresses: NotRequired[Sequence[str]]
    """Its addresses: one for each of `networks` that has `addresses`, in their order."""


class VsphereOptionsDict(TypedDict):
    """What only vSphere needs to know."""

    cpus: int
    """Virtual CPUs of each machine, 1 to 768."""
    coresPerSocket: NotRequired[int]
    """Virtual CPUs of each socket, by which `cpus` can be divided. Default: the template's."""
    coresPerNumaNode: NotRequired[int]
    """Virtual CPUs of each virtual NUMA node, by which `cpus` can be divided: vSphere 8.0 and
    hardware version 20. Changes while the machine is off. Default: the template's, and where it
    has none the host decides."""
    cpuReservationMhz: NotRequired[int]
    """Processor time that a host keeps for each machine, in MHz; 0 reserves none. Default: the
    template's, and with `latencySensitivity: high` all of it."""
    cpuShares: NotRequired[CpuSharesWord]
    """One of `low`, `normal`, `high`. Weight of a machine's processor time where a host has too
    little for all. Default: the template's."""
    hardwareVersion: NotRequired[int]
    """Virtual hardware version of each machine, 9 to 99: 20 comes with vSphere 8.0. A machine of
    an older one is upgraded while it is off, and there is no way back. Default: the
    template's."""
    guestId: NotRequired[str]
    """Guest operating system that the template must have, as vCenter spells it: `ubuntu64Guest`.
    It is never changed. Default: whatever the template has."""
    annotation: NotRequired[str]
    """Notes of each machine, 1 to 4096 characters. Default: the template's."""
    customAttributes: NotRequired[Mapping[str, str]]
    """Values of vCenter's custom attributes, at most 64; the attributes must exist. Others that a
    machine has are left alone. Default: none."""
    tags: NotRequired[Sequence[VsphereTagArgs]]
    """Tags of each machine, at most 64; they must exist. Others that a machine has are left
    alone. Default: none."""
    mmioGib: NotRequired[int]
    """64-bit MMIO window of each machine. Default: computed from the GPUs' memory."""
    latencySensitivity: NotRequired[LatencySensitivityWord]
    """One of `normal`, `high`. Whether virtual CPUs get cores of their own. Changes while the
    machine is off. Default normal."""
    extraDisks: NotRequired[Sequence[VsphereDiskDict]]
    """Disks of each machine next to the template's, at most 14. One more, or a larger one, comes
    while the machine runs; one less needs it off. Default: none."""
    nics: NotRequired[VsphereNicsDict]
    """NICs by passthrough, which `fabric: rdma` uses. Change while the machine is off. Default:
    none."""
    extraConfig: NotRequired[Mapping[str, str]]
    """Further keys of each machine's configuration, at most 256; those under `guestinfo.`,
    `pciPassthru.` and `gpufleet.` are gpufleet's. Change while the machine is off. Default:
    none."""
    maxPerHost: NotRequired[int]
    """Anti-affinity: most machines of the pool on one host, 1 to 64. Validated when a machine is
    made. Default: no limit."""
    separateHosts: NotRequired[VsphereOptionsSeparateHostsWord]
    """One of `preferred`, `required`. DRS anti-affinity rule of the pool's machines: DRS keeps
    them on different hosts where it can (`preferred`), or does not start and move them otherwise
    (`required`). gpufleet makes the rule and removes it with the pool. Default: no rule."""
    vmGroup: NotRequired[str]
    """DRS group of virtual machines that each machine is put into; it must exist. Hosts follow
    the cluster's mandatory rules for that group. Default: none."""
    drsBehavior: NotRequired[DrsBehaviorWord]
    """One of `fullyAutomated`, `partiallyAutomated`, `manual`, `disabled`. What DRS may do with
    each machine. Default: as with others of the cluster."""
    replaceNotReadyMinutes: NotRequired[int]
    """A machine whose node has not been Ready for so many minutes, 5 to 10080, is made anew by
    the next update that refreshes the state. Needs the connection's `kubernetes`. Default:
    never."""
    waitFor: NotRequired[VsphereWaitForWord]
    """One of `powerOn`, `tools`, `address`, `joined`. How far a new machine must come before it
    counts. Default powerOn."""
    updatePolicy: NotRequired[VsphereUpdatePolicyWord]
    """One of `refuse`, `restart`, `replace`. What a change may do to machines that run. Default
    refuse."""
    ignoreUserDataChanges: NotRequired[bool]
    """Whether other first-boot data leaves machines that exist as they are. Default false: it
    makes them anew."""
    onCreateFailure: NotRequired[CreateFailureWord]
    """One of `delete`, `keep`. What becomes of a machine whose making failed. Default delete."""
    deletePolicy: NotRequired[DeletePolicyWord]
    """One of `trySoft`, `hard`. How a running machine is stopped before it is destroyed. Default
    trySoft."""
    timeouts: NotRequired[VsphereTimeoutsDict]
    """Longest each step may take."""
    template: str
    """Name of the virtual machine template to clone: EFI firmware; hardware version 17 or later
    for dynamicDirectPath, where `hardwareVersion` does not say it."""
    datastore: NotRequired[str]
    """Datastore of the machine's disks. Default: the template's."""
    datastoreCluster: NotRequired[str]
    """Datastore cluster instead: each machine goes to the datastore in it that its host mounts
    and that has most room when it is made. Default: none."""
    storagePolicy: NotRequired[str]
    """Storage policy of each machine, by name: of its own files and of the disks that name no
    datastore. Datastores that do not comply are not used. Default: the datastore's own."""
    folder: NotRequired[str]
    """Folder the machines are in. Default: the datacenter's own."""
    hosts: NotRequired[Sequence[str]]
    """Hosts of the cluster that may be used, by name. Default: all."""
    denyHosts: NotRequired[Sequence[str]]
    """Hosts of the cluster that must not be used, by name. Default: none."""
    memoryGib: int
    """Fully reserved: DirectPath and vGPU machines cannot overcommit memory."""
    pciAddresses: NotRequired[Sequence[str]]
    """With `attachment: passthrough`, the devices of each machine, at the same addresses on every
    host; as many as `gpusPerNode`. Where hosts differ, `machines` has them one by one. Not
    allowed otherwise."""
    deviceIds: NotRequired[Sequence[str]]
    """With `attachment: dynamicDirectPath`, PCI device ids that will do. Default: the catalogue's
    for the pool's GPU."""
    board: NotRequired[VsphereOptionsBoardWord]
    """One of `sxm`, `pcie`, `nvl`. With `attachment: dynamicDirectPath`, which boards of the GPU
    will do: their PCI device ids are the catalogue's. Default: all of them."""
    hardwareLabel: NotRequired[str]
    """With `attachment: dynamicDirectPath`, label the device must carry on its host. Default:
    none."""
    rolloutWidth: NotRequired[int]
    """Machines that are changed, replaced or removed at the same time, 1 to 64, after the first
    one, which goes alone. Default 4. The engine's own `--parallel` bounds it too."""
    creationWidth: NotRequired[int]
    """Machines that are made at the same time when the pool grows, 1 to 64. Default 16; vCenter
    queues what its hosts cannot clone at once."""
    exclude: NotRequired[Sequence[int]]
    """Numbers that no machine has. To remove machine 1 of 3: `nodes` 2 and `exclude: [1]`; 0 and
    2 stay as they are. Default: none."""
    machines: NotRequired[Sequence[VsphereMachineDict]]
    """The machines by name, as many as `nodes.min`, in place of numbers. Default: numbers."""
    adopt: NotRequired[Mapping[str, str]]
    """Machines of gpufleet that another stack made, or this one before its state was lost, and
    that become machines of this pool as they are: number or name -> vCenter's instance uuid.
    Default: none; a machine of another stack is never touched."""
    attachment: NotRequired[AttachmentWord]
    """One of `passthrough`, `dynamicDirectPath`, `vgpu`. How the GPU gets into the machine.
    Default dynamicDirectPath."""
    networks: NotRequired[Sequence[VsphereNetworkDict]]
    """All network adapters of each machine, at most 10, in place of the connection's `network`:
    the template's are taken for them in order, and further ones removed. Default: the template's,
    the first of them on the connection's `network`."""
