"""Inputs of components: what restates `gpufleet.spec.platforms.openshift`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import AttachmentWord, DiskFormatWord, MachineRolloutWord


class MachineHealthArgs(TypedDict):
    """When a machine is replaced, which ends every pod on it."""

    enabled: NotRequired[bool]
    """Default true."""
    unhealthy_seconds: NotRequired[int]
    """Time that a node may be not ready, 60 to 86400 seconds. Default 300."""
    startup_minutes: NotRequired[int]
    """Time for a machine to become a node, 5 to 240 minutes. Default 30; OpenShift's own 10 are
    too short for a machine whose whole memory is reserved."""
    max_unhealthy: NotRequired[int]
    """With more unhealthy machines than this, none is replaced: the fault has another cause. 0
    never replaces. Default: two fifths of `nodes.max`, at least 1."""


class MachineConfigurationArgs(TypedDict):
    """A separate MachineConfigPool of the pool, and settings of its operating system in addition
    to the workers' configuration."""

    kernel_arguments: NotRequired[list[str]]
    """Kernel arguments, `intel_iommu=on`. A change reboots the nodes one after another. Default:
    none."""
    max_unavailable: NotRequired[int]
    """Nodes that may reboot at the same time, 1 to 1000. Default 1."""


class OpenShiftDiskArgs(TypedDict):
    """A data disk of each machine in addition to those of the template."""

    name: str
    """1 to 32 of a-z, 0-9 and inner hyphens."""
    size_gib: int
    """1 to 16384, the maximum of the machine API."""
    format: NotRequired[DiskFormatWord]
    """One of `thin`, `thick`, `eagerZeroed`. Allocation of its space. Default: as in the storage
    policy of its datastore."""


class OpenShiftAddressPoolArgs(TypedDict):
    """A pool of addresses that a controller in the cluster assigns by IPAddressClaims."""

    group: str
    """API group of the kind of pool, `ipam.cluster.x-k8s.io`."""
    resource: str
    """Plural of the kind of pool in lower case, `inclusterippools`."""
    name: str
    """Name of the pool."""


class OpenShiftAddressesArgs(TypedDict):
    """Static addresses of one adapter. The same ones are written to every machine of the pool, so
    only `pools` gives each machine its own."""

    pools: NotRequired[list[OpenShiftAddressPoolArgs]]
    """Pools from which each machine claims an address, at most 8. The claim contains the gateway.
    Default: none."""
    fixed: NotRequired[list[str]]
    """Addresses with their prefix length, `10.0.0.10/24`, at most 8: only in a pool of one
    machine. Default: none."""
    gateway: NotRequired[str]
    """Default route of `fixed`. Default: none on this adapter."""
    nameservers: NotRequired[list[str]]
    """DNS servers, at most 8; a claim contains none. Default: none."""


class OpenShiftNetworkArgs(TypedDict):
    """A network adapter of each machine; the machine API uses vmxnet3 for all of them."""

    network: str
    """Port group, by name."""
    addresses: NotRequired[OpenShiftAddressesArgs]
    """Static addresses. Default: DHCP."""


class OpenShiftOptionsArgs(TypedDict):
    """Settings for OpenShift on vSphere only: the machine, and the template that contains its
    GPU."""

    rollout: NotRequired[MachineRolloutWord]
    """One of `recreate`, `surge`. How machines are replaced when labels, taints or shape change:
    the machine API never changes existing machines. Default recreate."""
    health: NotRequired[MachineHealthArgs]
    """When machines are replaced. Default: not ready for 5 minutes."""
    machine_config: NotRequired[MachineConfigurationArgs]
    """A separate MachineConfigPool with the pool's name. Default: none, the nodes belong to the
    pool `worker`."""
    cpus: int
    """Virtual CPUs of each machine, 2 to 768."""
    cores_per_socket: NotRequired[int]
    """Cores of each virtual socket; must divide `cpus`. Default: the template's."""
    memory_gib: int
    """Memory of each machine, 4 to 24576 GiB. The template must reserve all of it."""
    template: str
    """Name, inventory path or instance UUID of a virtual machine template of Red Hat CoreOS with
    the GPU: EFI firmware without Secure Boot, hardware version 20 or later, all memory reserved,
    64-bit MMIO."""
    attachment: NotRequired[AttachmentWord]
    """One of `passthrough`, `dynamicDirectPath`, `vgpu`. How the GPU is attached in the template.
    Default dynamicDirectPath."""
    datastore: NotRequired[str]
    """Datastore of the disks. Default: the connection's."""
    folder: NotRequired[str]
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`. Default: the
    connection's."""
    tag_ids: NotRequired[list[str]]
    """vSphere tags of each machine, by id, at most 10. Default: none."""
    extra_disks: NotRequired[list[OpenShiftDiskArgs]]
    """Data disks of each machine, at most 29, on the datastore of the machine. Default: none."""
    networks: NotRequired[list[OpenShiftNetworkArgs]]
    """All network adapters of each machine, at most 10, instead of the connection's `network`.
    The first one reaches the cluster. Default: one on the connection's network, with DHCP."""
