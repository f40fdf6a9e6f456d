"""Inputs of components that restate `gpufleet.spec.vsphere`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict


class VsphereOptionsArgs(TypedDict):
    """What only vSphere needs to know."""

    cpus: int
    """Virtual CPUs of each machine, 1 to 768."""
    memory_gib: int
    """Fully reserved: DirectPath and vGPU machines cannot overcommit memory."""
    template: str
    """Name of the virtual machine template to clone: EFI firmware, hardware version 20 or
    later."""
    hosts: NotRequired[list[str]]
    """Hosts of the cluster that may be used, by name. Default: all."""
    pci_addresses: NotRequired[list[str]]
    """With `attachment: passthrough`, the devices of each machine, at the same addresses on every
    host; as many as `gpusPerNode`. Not allowed otherwise."""
    device_ids: NotRequired[list[str]]
    """With `attachment: dynamicDirectPath`, PCI device ids that will do. Default: the catalogue's
    for the pool's GPU."""
    hardware_label: NotRequired[str]
    """With `attachment: dynamicDirectPath`, label the device must carry on its host. Default:
    none."""
    mmio_gib: NotRequired[int]
    """64-bit MMIO window of each machine. Default: computed from the GPUs' memory."""
    update_policy: NotRequired[str]
    """One of `refuse`, `restart`, `replace`. What to do about a change that needs the machine
    powered off. Default refuse."""
    rollout_width: NotRequired[int]
    """Machines that are made or changed at the same time, 1 to 64. Default 4, as many as the
    engine runs at once."""
    attachment: NotRequired[str]
    """One of `passthrough`, `dynamicDirectPath`, `vgpu`. How the GPU gets into the machine.
    Default dynamicDirectPath."""
    datastore: NotRequired[str]
    """Datastore of the machine's disks. Default: the template's."""
    folder: NotRequired[str]
    """Folder the machines are in. Default: the template's."""
