"""Settings of a pool for OpenShift only: machines of its machine API on vSphere.

Fields and limits: openshift/api bfa868a `machine/v1beta1` (VSphereMachineProviderSpec,
MachineHealthCheck) and `machineconfiguration/v1`, openshift/machine-api-operator 7dc0e85
`pkg/webhooks/machine_webhook.go`, read 2026-11-23. The machine API has no field for a PCI device:
the template contains the GPU.
"""

import ipaddress
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import SpecModel
from gpufleet.spec.platforms.vsphere import Attachment
from gpufleet.spec.platforms.vsphere_devices import (
    MOST_NETWORKS,
    DiskFormat,
    DiskName,
    IpAddress,
    named_twice,
)

VsphereTagId = Annotated[
    str,
    StringConstraints(
        pattern=r"^urn:vmomi:InventoryServiceTag:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}:[^:]+$"
    ),
]
"""Id of a vSphere tag in vCenter's form, `urn:vmomi:InventoryServiceTag:<uuid>:GLOBAL`."""

KernelArgument = Annotated[str, StringConstraints(pattern=r"^\S+$", max_length=200)]
"""One kernel argument, `intel_iommu=on`, without blanks."""


class MachineRollout(StrEnum):
    """How machines are replaced when their creation settings change."""

    RECREATE = "recreate"
    """The old machines are drained and removed first: needs no spare GPU. The default."""
    SURGE = "surge"
    """New machines start first: needs twice the GPUs for some time."""


class MachineHealth(SpecModel):
    """When a machine is replaced, which ends every pod on it."""

    enabled: bool = True
    """Default true."""
    unhealthy_seconds: int = Field(default=300, ge=60, le=86_400)
    """Time that a node may be not ready, 60 to 86400 seconds. Default 300."""
    startup_minutes: int = Field(default=30, ge=5, le=240)
    """Time for a machine to become a node, 5 to 240 minutes. Default 30; OpenShift's own 10 are too
    short for a machine whose whole memory is reserved."""
    max_unhealthy: int | None = Field(default=None, ge=0, le=10_000)
    """With more unhealthy machines than this, none is replaced: the fault has another cause. 0
    never replaces. Default: two fifths of `nodes.max`, at least 1."""


class MachineConfiguration(SpecModel):
    """A separate MachineConfigPool of the pool, and settings of its operating system in addition to
    the workers' configuration."""

    kernel_arguments: Annotated[tuple[KernelArgument, ...], Field(max_length=50)] = ()
    """Kernel arguments, `intel_iommu=on`. A change reboots the nodes one after another. Default:
    none."""
    max_unavailable: int = Field(default=1, ge=1, le=1000)
    """Nodes that may reboot at the same time, 1 to 1000. Default 1."""


class OpenShiftMachineOptions(SpecModel):
    """Settings of the machine API, on every infrastructure."""

    rollout: MachineRollout = MachineRollout.RECREATE
    """How machines are replaced when labels, taints or shape change: the machine API never changes
    existing machines. Default recreate."""
    health: MachineHealth = Field(default_factory=MachineHealth)
    """When machines are replaced. Default: not ready for 5 minutes."""
    machine_config: MachineConfiguration | None = None
    """A separate MachineConfigPool with the pool's name. Default: none, the nodes belong to
    the pool `worker`."""


class OpenShiftDisk(SpecModel):
    """A data disk of each machine in addition to those of the template."""

    name: DiskName
    """1 to 32 of a-z, 0-9 and inner hyphens."""
    size_gib: int = Field(ge=1, le=16_384)
    """1 to 16384, the maximum of the machine API."""
    format: DiskFormat | None = None
    """Allocation of its space. Default: as in the storage policy of its datastore."""


_POOL_PART = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class OpenShiftAddressPool(SpecModel):
    """A pool of addresses that a controller in the cluster assigns by IPAddressClaims."""

    group: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
    """API group of the kind of pool, `ipam.cluster.x-k8s.io`."""
    resource: Annotated[str, StringConstraints(pattern=_POOL_PART)]
    """Plural of the kind of pool in lower case, `inclusterippools`."""
    name: Annotated[str, StringConstraints(pattern=_POOL_PART)]
    """Name of the pool."""


class OpenShiftAddresses(SpecModel):
    """Static addresses of one adapter. The same ones are written to every machine of the pool, so
    only `pools` gives each machine its own."""

    pools: Annotated[tuple[OpenShiftAddressPool, ...], Field(max_length=8)] = ()
    """Pools from which each machine claims an address, at most 8. The claim contains the gateway.
    Default: none."""
    fixed: Annotated[tuple[str, ...], Field(max_length=8)] = ()
    """Addresses with their prefix length, `10.0.0.10/24`, at most 8: only in a pool of one
    machine. Default: none."""
    gateway: IpAddress | None = None
    """Default route of `fixed`. Default: none on this adapter."""
    nameservers: Annotated[tuple[IpAddress, ...], Field(max_length=8)] = ()
    """DNS servers, at most 8; a claim contains none. Default: none."""

    @model_validator(mode="after")
    def _some_address(self) -> Self:
        if not self.pools and not self.fixed:
            raise ValueError("no address: write pools, or remove addresses to have DHCP")
        for text in self.fixed:
            if "/" not in text:
                raise ValueError(f"{text} has no prefix: write {text}/24, if the network is a /24")
            ipaddress.ip_interface(text)
        for text in (*self.nameservers, *(() if self.gateway is None else (self.gateway,))):
            ipaddress.ip_address(text)
        return self


class OpenShiftNetwork(SpecModel):
    """A network adapter of each machine; the machine API uses vmxnet3 for all of them."""

    network: str = Field(min_length=1, max_length=80)
    """Port group, by name."""
    addresses: OpenShiftAddresses | None = None
    """Static addresses. Default: DHCP."""


class OpenShiftOptions(OpenShiftMachineOptions):
    """Settings for OpenShift on vSphere only: the machine, and the template that contains its
    GPU."""

    cpus: int = Field(ge=2, le=768)
    """Virtual CPUs of each machine, 2 to 768."""
    cores_per_socket: int | None = Field(default=None, ge=1, le=768)
    """Cores of each virtual socket; must divide `cpus`. Default: the template's."""
    memory_gib: int = Field(ge=4, le=24_576)
    """Memory of each machine, 4 to 24576 GiB. The template must reserve all of it."""
    template: str = Field(min_length=1, max_length=400)
    """Name, inventory path or instance UUID of a virtual machine template of Red Hat CoreOS with
    the GPU: EFI firmware without Secure Boot, hardware version 20 or later, all memory
    reserved, 64-bit MMIO."""
    attachment: Attachment = Attachment.DYNAMIC_DIRECT_PATH
    """How the GPU is attached in the template. Default dynamicDirectPath."""
    datastore: str | None = Field(default=None, min_length=1, max_length=400)
    """Datastore of the disks. Default: the connection's."""
    folder: str | None = Field(default=None, min_length=1, max_length=400)
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`. Default: the connection's."""
    tag_ids: Annotated[tuple[VsphereTagId, ...], Field(max_length=10)] = ()
    """vSphere tags of each machine, by id, at most 10. Default: none."""
    extra_disks: Annotated[tuple[OpenShiftDisk, ...], Field(max_length=29)] = ()
    """Data disks of each machine, at most 29, on the datastore of the machine. Default: none."""
    networks: Annotated[tuple[OpenShiftNetwork, ...], Field(max_length=MOST_NETWORKS)] = ()
    """All network adapters of each machine, at most 10, instead of the connection's `network`. The
    first one reaches the cluster. Default: one on the connection's network, with DHCP."""

    @model_validator(mode="after")
    def _whole_sockets(self) -> Self:
        cores = self.cores_per_socket
        if cores is not None and self.cpus % cores:
            raise ValueError(f"coresPerSocket {cores} does not divide cpus {self.cpus}")
        if twice := named_twice(disk.name for disk in self.extra_disks):
            raise ValueError(f"extraDisks: {', '.join(twice)}: more than one disk has the name")
        return self
