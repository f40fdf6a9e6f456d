"""What only OpenShift needs to know of a pool: machines that its machine API makes on vSphere.

Fields and limits: openshift/api `machine/v1beta1` (VSphereMachineProviderSpec, MachineHealthCheck)
and `machineconfiguration/v1`, openshift/machine-api-operator `pkg/controller/vsphere/webhooks.go`,
read 2026-11-22. The machine API has no field for a PCI device: the template brings the GPU.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import SpecModel
from gpufleet.spec.platforms.vsphere import Attachment

VsphereTagId = Annotated[
    str,
    StringConstraints(
        pattern=r"^urn:vmomi:InventoryServiceTag:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}:[^:]+$"
    ),
]
"""Id of a vSphere tag as vCenter writes it, `urn:vmomi:InventoryServiceTag:<uuid>:GLOBAL`."""

KernelArgument = Annotated[str, StringConstraints(pattern=r"^\S+$", max_length=200)]
"""One kernel argument, `intel_iommu=on`, without blanks."""


class MachineRollout(StrEnum):
    """How machines are replaced when what they are born with changes."""

    RECREATE = "recreate"
    """The old machines are drained and removed first: needs no spare GPU. The default."""
    SURGE = "surge"
    """New machines first: needs the GPUs twice for a while."""


class MachineHealth(SpecModel):
    """When a machine is given up and made anew, which ends every pod on it."""

    enabled: bool = True
    """Default true."""
    unhealthy_seconds: int = Field(default=300, ge=60, le=86_400)
    """How long a node may be not ready, 60 to 86400 seconds. Default 300."""
    startup_minutes: int = Field(default=30, ge=5, le=240)
    """How long a machine may take to become a node, 5 to 240 minutes. Default 30; OpenShift's own
    10 are short for a machine whose whole memory is reserved."""
    max_unhealthy: int | None = Field(default=None, ge=0, le=10_000)
    """With more unhealthy machines than this nothing is remedied: the fault is elsewhere. 0 never
    remedies. Default: two fifths of `nodes.max`, at least 1."""


class MachineConfiguration(SpecModel):
    """A MachineConfigPool of the pool's own, and settings of its operating system in addition to
    the workers' configuration."""

    kernel_arguments: Annotated[tuple[KernelArgument, ...], Field(max_length=50)] = ()
    """Kernel arguments, `intel_iommu=on`. A change reboots the nodes one after another. Default:
    none."""
    max_unavailable: int = Field(default=1, ge=1, le=1000)
    """Nodes that may reboot at the same time, 1 to 1000. Default 1."""


class OpenShiftMachineOptions(SpecModel):
    """What the machine API needs to know, whatever makes the machines."""

    rollout: MachineRollout = MachineRollout.RECREATE
    """How machines are replaced when labels, taints or shape change: the machine API changes
    nothing on machines that exist. Default recreate."""
    health: MachineHealth = Field(default_factory=MachineHealth)
    """When machines are given up. Default: not ready for 5 minutes."""
    machine_config: MachineConfiguration | None = None
    """A MachineConfigPool of the pool's own, called as the pool. Default: none, the nodes belong to
    the pool `worker`."""


class OpenShiftOptions(OpenShiftMachineOptions):
    """What only OpenShift on vSphere needs to know: the machine, and the template that brings its
    GPU."""

    cpus: int = Field(ge=2, le=768)
    """Virtual CPUs of each machine, 2 to 768."""
    cores_per_socket: int | None = Field(default=None, ge=1, le=768)
    """Cores of each virtual socket; must divide `cpus`. Default: the template's."""
    memory_gib: int = Field(ge=4, le=24_576)
    """Memory of each machine, 4 to 24576 GiB. The template must reserve all of it."""
    template: str = Field(min_length=1, max_length=400)
    """Name, inventory path or instance UUID of a virtual machine template of Red Hat CoreOS with
    the GPU in it: EFI firmware without Secure Boot, hardware version 20 or later, all memory
    reserved, 64-bit MMIO."""
    attachment: Attachment = Attachment.DYNAMIC_DIRECT_PATH
    """How the template holds its GPU. Default dynamicDirectPath."""
    datastore: str | None = Field(default=None, min_length=1, max_length=400)
    """Datastore of the disks. Default: the connection's."""
    folder: str | None = Field(default=None, min_length=1, max_length=400)
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`. Default: the connection's."""
    tag_ids: Annotated[tuple[VsphereTagId, ...], Field(max_length=10)] = ()
    """vSphere tags of each machine, by id, at most 10. Default: none."""

    @model_validator(mode="after")
    def _whole_sockets(self) -> Self:
        cores = self.cores_per_socket
        if cores is not None and self.cpus % cores:
            raise ValueError(f"coresPerSocket {cores} does not divide cpus {self.cpus}")
        return self
