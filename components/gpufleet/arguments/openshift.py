"""Inputs of components that restate `gpufleet.spec.platforms.openshift`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict


class MachineHealthArgs(TypedDict):
    """When a machine is given up and made anew, which ends every pod on it."""

    enabled: NotRequired[bool]
    """Default true."""
    unhealthy_seconds: NotRequired[int]
    """How long a node may be not ready, 60 to 86400 seconds. Default 300."""
    startup_minutes: NotRequired[int]
    """How long a machine may take to become a node, 5 to 240 minutes. Default 30; OpenShift's own
    10 are short for a machine whose whole memory is reserved."""
    max_unhealthy: NotRequired[int]
    """With more unhealthy machines than this nothing is remedied: the fault is elsewhere. 0 never
    remedies. Default: two fifths of `nodes.max`, at least 1."""


class MachineConfigurationArgs(TypedDict):
    """A MachineConfigPool of the pool's own, and settings of its operating system in addition to
    the workers' configuration."""

    kernel_arguments: NotRequired[list[str]]
    """Kernel arguments, `intel_iommu=on`. A change reboots the nodes one after another. Default:
    none."""
    max_unavailable: NotRequired[int]
    """Nodes that may reboot at the same time, 1 to 1000. Default 1."""


class OpenShiftOptionsArgs(TypedDict):
    """What only OpenShift on vSphere needs to know: the machine, and the template that brings its
    GPU."""

    rollout: NotRequired[str]
    """One of `recreate`, `surge`. How machines are replaced when labels, taints or shape change:
    the machine API changes nothing on machines that exist. Default recreate."""
    health: NotRequired[MachineHealthArgs]
    """When machines are given up. Default: not ready for 5 minutes."""
    machine_config: NotRequired[MachineConfigurationArgs]
    """A MachineConfigPool of the pool's own, called as the pool. Default: none, the nodes belong
    to the pool `worker`."""
    cpus: int
    """Virtual CPUs of each machine, 2 to 768."""
    cores_per_socket: NotRequired[int]
    """Cores of each virtual socket; must divide `cpus`. Default: the template's."""
    memory_gib: int
    """Memory of each machine, 4 to 24576 GiB. The template must reserve all of it."""
    template: str
    """Name, inventory path or instance UUID of a virtual machine template of Red Hat CoreOS with
    the GPU in it: EFI firmware without Secure Boot, hardware version 20 or later, all memory
    reserved, 64-bit MMIO."""
    attachment: NotRequired[str]
    """One of `passthrough`, `dynamicDirectPath`, `vgpu`. How the template holds its GPU. Default
    dynamicDirectPath."""
    datastore: NotRequired[str]
    """Datastore of the disks. Default: the connection's."""
    folder: NotRequired[str]
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`. Default: the
    connection's."""
    tag_ids: NotRequired[list[str]]
    """vSphere tags of each machine, by id, at most 10. Default: none."""
