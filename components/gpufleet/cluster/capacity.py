"""Capacity of pools: reservations, overlays, launch templates, and limits of autoscalers."""

from dataclasses import dataclass

from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation(Subject):
    """Machines that are paid for whether they run or not: EC2 reservations and blocks, Google's."""

    names: tuple[str, ...]
    """All names by which pools may refer to it: id, name, ARN."""
    instance_type: Fact[str]
    count: Fact[int]
    gpu: Fact[str]
    gpus_per_node: Fact[int]
    targeted: Fact[bool] = NOTHING
    """Whether only machines that name it may use it; absent: any matching machine may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTemplate(Subject):
    """Machine configuration that pools name: EC2 launch template, machine template."""

    names: tuple[str, ...]
    """All names by which pools may refer to it."""
    instance_type: Fact[str] = NOTHING
    gpu: Fact[str] = NOTHING
    gpus_per_node: Fact[int] = NOTHING
    carries_gpus: Fact[bool] = NOTHING
    capacity: Fact[frozenset[str]] = NOTHING
    reservations: tuple[str, ...] = ()
    has_efa: Fact[bool] = NOTHING
    placement_group: Fact[str] = NOTHING
    zones: Fact[tuple[str, ...]] = NOTHING
    vgpu_profile: Fact[str] = NOTHING
    image: Fact[str] = NOTHING
    """Node image, as the template names it: an id, a name, an SSM parameter, EKS `amiType`."""
    taints_gpus: bool = False
    """Whether it gives nodes with GPUs the taint nvidia.com/gpu=present:NoSchedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAutoscaler(Subject):
    """Bounds of a pool that a separate object holds (OpenShift MachineAutoscaler)."""

    target: Fact[str]
    minimum: Fact[int]
    maximum: Fact[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOverlay(Subject):
    """Resources that nodes offer in addition to their hardware, as declared to Karpenter."""

    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledSize(Subject):
    """An object that changes the size of a group of machines at set times."""

    target: Fact[str]
    """Name of the group."""
