"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.platforms.openshift`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.openshift import OpenShiftNetworkArgs
from gpufleet.arguments.words import AttachmentWord, DiskFormatWord, MachineRolloutWord


class MachineHealthDict(TypedDict):
    """When a machine is given up and made anew, which ends every pod on it."""

    enabled: NotRequired[bool]
    """Default true."""
    unhealthySeconds: NotRequired[int]
    """How long a node may be not ready, 60 to 86400 seconds. Default 300."""
    startupMinutes: NotRequired[int]
    """How long a machine may take to become a node, 5 to 240 minutes. Default 30; OpenShift's own
    10 are short for a machine whose whole memory is reserved."""
    maxUnhealthy: NotRequired[int]
    """With more unhealthy machines than this nothing is remedied: the fault is elsewhere. 0 never
    remedies. Default: two fifths of `nodes.max`, at least 1."""


class MachineConfigurationDict(TypedDict):
    """A MachineConfigPool of the pool's own, and settings of its operating system in addition to
    the workers' configuration."""

    kernelArguments: NotRequired[Sequence[str]]
    """Kernel arguments, `intel_iommu=on`. A change reboots the nodes one after another. Default:
    none."""
    maxUnavailable: NotRequired[int]
    """Nodes that may reboot at the same time, 1 to 1000. Default 1."""


class OpenShiftDiskDict(TypedDict):
    """A data disk of each machine next to the template's."""

    name: str
    """1 to 32 of a-z, 0-9 and inner hyphens."""
    sizeGib: int
    """1 to 16384, the most that the machine API takes."""
    format: NotRequired[DiskFormatWord]
    """One of `thin`, `thick`, `eagerZeroed`. How its space is taken. Default: as the storage
    policy of its datastore has it."""


class OpenShiftOptionsDict(TypedDict):
    """What only OpenShift on vSphere needs to know: the machine, and the template that brings its
    GPU."""

    rollout: NotRequired[MachineRolloutWord]
    """One of `recreate`, `surge`. How machines are replaced when labels, taints or shape change:
    the machine API changes nothing on machines that exist. Default recreate."""
    health: NotRequired[MachineHealthDict]
    """When machines are given up. Default: not ready for 5 minutes."""
    machineConfig: NotRequired[MachineConfigurationDict]
    """A MachineConfigPool of the pool's own, called as the pool. Default: none, the nodes belong
    to the pool `worker`."""
    cpus: int
    """Virtual CPUs of each machine, 2 to 768."""
    coresPerSocket: NotRequired[int]
    """Cores of each virtual socket; must divide `cpus`. Default: the template's."""
    memoryGib: int
    """Memory of each machine, 4 to 24576 GiB. The template must reserve all of it."""
    template: str
    """Name, inventory path or instance UUID of a virtual machine template of Red Hat CoreOS with
    the GPU in it: EFI firmware without Secure Boot, hardware version 20 or later, all memory
    reserved, 64-bit MMIO."""
    attachment: NotRequired[AttachmentWord]
    """One of `passthrough`, `dynamicDirectPath`, `vgpu`. How the template holds its GPU. Default
    dynamicDirectPath."""
    datastore: NotRequired[str]
    """Datastore of the disks. Default: the connection's."""
    folder: NotRequired[str]
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`. Default: the
    connection's."""
    tagIds: NotRequired[Sequence[str]]
    """vSphere tags of each machine, by id, at most 10. Default: none."""
    extraDisks: NotRequired[Sequence[OpenShiftDiskDict]]
    """Data disks of each machine, at most 29, on the datastore of the machine. Default: none."""
    networks: NotRequired[Sequence[OpenShiftNetworkArgs]]
    """All network adapters of each machine, at most 10, in place of the connection's `network`.
    The first one reaches the cluster. Default: one on the connection's network, with DHCP."""
