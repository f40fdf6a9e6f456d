"""What only vSphere needs to know of a pool."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.spec.base import SpecModel

PciAddress = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")
]
"""Address of a PCI device on its host: `0000:3b:00.0`."""

PciDeviceId = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{4}$")]
"""PCI device id: four hexadecimal digits, `20b5`."""


class VsphereUpdatePolicy(StrEnum):
    """What to do about a change that needs the machine powered off."""

    REFUSE = "refuse"
    """End with an error that names the properties: pods run there."""
    RESTART = "restart"
    """Shut down, change, power on. Drain the node first."""
    REPLACE = "replace"
    """Make the machine anew."""


class Attachment(StrEnum):
    """How a vSphere virtual machine gets its GPU."""

    PASSTHROUGH = "passthrough"
    """A fixed PCI device of one host."""
    DYNAMIC_DIRECT_PATH = "dynamicDirectPath"
    """Any free device of the kind; the default."""
    VGPU = "vgpu"
    """A vGPU profile, named in `sharing.vgpu`."""


class VsphereOptions(SpecModel):
    """What only vSphere needs to know."""

    cpus: int = Field(ge=1, le=768)
    """Virtual CPUs of each machine, 1 to 768."""
    memory_gib: int = Field(ge=4, le=24_576)
    """Fully reserved: DirectPath and vGPU machines cannot overcommit memory."""
    template: str = Field(min_length=1, max_length=200)
    """Name of the virtual machine template to clone: EFI firmware, hardware version 20 or later."""
    hosts: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Hosts of the cluster that may be used, by name. Default: all."""
    pci_addresses: Annotated[tuple[PciAddress, ...], Field(max_length=16)] = ()
    """With `attachment: passthrough`, the devices of each machine, at the same addresses on every
    host; as many as `gpusPerNode`. Not allowed otherwise."""
    device_ids: Annotated[tuple[PciDeviceId, ...], Field(max_length=8)] = ()
    """With `attachment: dynamicDirectPath`, PCI device ids that will do. Default: the catalogue's
    for the pool's GPU."""
    hardware_label: str = Field(default="", max_length=80)
    """With `attachment: dynamicDirectPath`, label the device must carry on its host. Default:
    none."""
    mmio_gib: int | None = Field(default=None, ge=1, le=65_536)
    """64-bit MMIO window of each machine. Default: computed from the GPUs' memory."""
    update_policy: VsphereUpdatePolicy = VsphereUpdatePolicy.REFUSE
    """What to do about a change that needs the machine powered off. Default refuse."""
    rollout_width: int = Field(default=4, ge=1, le=64)
    """Machines that are made or changed at the same time, 1 to 64. Default 4, as many as the engine
    runs at once."""
    attachment: Attachment = Attachment.DYNAMIC_DIRECT_PATH
    """How the GPU gets into the machine. Default dynamicDirectPath."""
    datastore: str | None = None
    """Datastore of the machine's disks. Default: the template's."""
    folder: str | None = None
    """Folder the machines are in. Default: the template's."""
