"""Grant: the part of a GPU that one unit of a resource gives, and the function that makes it.

Compile, the sizes of models, the planner and the audit use it; none of them computes the memory of
a share.
"""

from dataclasses import dataclass
from fractions import Fraction

from gpufleet.catalogue.gpu import Gpu, MigGeometry
from gpufleet.partition.profile_name import gpu_instance_of, parse, resource_of
from gpufleet.partition.shares import (
    RESOURCES,
    mps_memory,
    mps_threads_percent,
    shared_name,
    slice_memory,
)


@dataclass(frozen=True, slots=True)
class Division:
    """Use of one device by several programs at a time. Default: one program."""

    replicas: int = 1
    """Shares of each device."""
    is_mps: bool = False
    """MPS: concurrent, with a limit of memory for each. Otherwise turns, and no limit."""
    rename: bool = False
    """Whether the shares are published under the name with `.shared`."""
    limit_bytes: int | None = None
    """MPS: limit that the pods are given, in bytes. Default: an even part."""
    threads_percent: int | None = None
    """MPS: active threads that the pods are given, percent. Default: an even part."""

    @property
    def share_threads(self) -> int:
        """Maximum active threads of one share, percent of the GPU; 100 without MPS."""
        if not self.is_mps:
            return 100
        return self.threads_percent or mps_threads_percent(self.replicas)

    def share_memory(self, device_bytes: int | None) -> int | None:
        """Memory of one share in bytes: a limit under MPS, else an even part of the device."""
        if self.is_mps and self.limit_bytes is not None:
            return self.limit_bytes
        if device_bytes is None:
            return None
        if self.is_mps:
            return mps_memory(device_bytes, self.replicas)
        return device_bytes // self.replicas


UNDIVIDED = Division()


@dataclass(frozen=True, slots=True)
class Grant:
    """One unit of a resource that a pod requests, and the part of a GPU that it gets."""

    resource: str
    """Extended resource name, exactly as the node publishes it. For a `dra` pool: the name that a
    DeviceClass provides, or without `extendedResource` the DeviceClass of a claim."""
    gpu: str
    """Key of the GPU in the catalogue; empty: unknown."""
    per_node: int
    """Units of a node. For devices that are created on demand: the number without other kinds."""
    part: Fraction
    """Part of one GPU, as the node has it, that others can no longer have: of a slice the larger of
    its compute and its memory part, divided by the replicas."""
    profile: str | None
    """MIG profile behind the resource, None for whole or time-sliced whole GPUs."""
    replicas: int
    """Number of shares of each device (GPU or slice); 1: not divided."""
    memory_bytes: int | None
    """Usable memory of one share in bytes: of the whole device when exclusive, an enforced limit
    under MPS, an even part without enforcement under time-slicing. None: not sourced."""
    device_bytes: int | None
    """Usable memory of the device that the shares divide, in bytes. None: not sourced."""
    is_enforced: bool
    """Whether a program is held to `memory_bytes`. False where programs share the memory of the
    device without a limit: time-slicing, compute instances of one GPU instance."""
    threads_percent: int = 100
    """MPS: maximum active threads of one client, percent of the GPU."""
    device_class: str | None = None
    """DeviceClass of claims for it; None: a device plugin advertises it."""

    @property
    def is_whole_gpu(self) -> bool:
        """Whether it is one GPU for one container."""
        return self.profile is None and self.replicas == 1

    @property
    def most_bytes(self) -> int | None:
        """Maximum memory that a program can allocate: its share if it is enforced, else the whole
        device. None: not sourced."""
        return self.memory_bytes if self.is_enforced else self.device_bytes


def grant(
    gpu: Gpu | None,
    devices: int,
    *,
    profile: str | None = None,
    resource: str | None = None,
    device_bytes: int | None = None,
    tenants: int = 1,
    division: Division = UNDIVIDED,
    device_class: str | None = None,
) -> Grant:
    """Grant of one unit of a resource on nodes with `devices` devices of this kind.

    `gpu`: None if unknown; then only `device_bytes` states the memory.
    `profile`: MIG profile of the devices, None for whole GPUs. `resource`: name before shares are
    renamed; default: the vendor's for whole GPUs, the one of the strategy `mixed` for slices. On
    GKE, slices and shares are published as `nvidia.com/gpu`: name it, without `rename`.
    `device_bytes`: usable memory of one device where it is not that of a whole GPU or a slice
    (parts of GPUs that clouds sell, vGPU types). `tenants`: compute instances that share the memory
    of one GPU instance.

    Sources: NVIDIA/k8s-device-plugin README, "Shared Access to GPUs" (time-slicing has no memory
    limit; MPS divides memory evenly and enforces it) and `cmd/mps-control-daemon/mps/daemon.go`.
    """
    memory = device_bytes
    if memory is None and gpu is not None:
        memory = gpu.memory_bytes
        if profile is not None:
            memory = slice_memory(gpu, gpu_instance_of(profile))
    replicas = division.replicas
    if resource is None:
        vendor = "nvidia" if gpu is None else gpu.vendor
        resource = RESOURCES[vendor] if profile is None else resource_of(profile)
    return Grant(
        resource=shared_name(resource, replicas, division.rename),
        gpu="" if gpu is None else gpu.key,
        per_node=devices * replicas,
        part=slice_part(gpu, profile) / replicas,
        profile=profile,
        replicas=replicas,
        memory_bytes=division.share_memory(None if memory is None else memory // tenants),
        device_bytes=memory,
        is_enforced=tenants == 1 and (division.is_mps or replicas == 1),
        threads_percent=division.share_threads,
        device_class=device_class,
    )


def slice_parts(geometry: MigGeometry, profile: str) -> tuple[Fraction, Fraction]:
    """The part of a GPU's compute slices and of its memory slots that a GPU instance takes."""
    row = geometry.profiles[profile]
    return (
        Fraction(row.compute_slices, geometry.compute_slices),
        Fraction(row.memory_slots, geometry.memory_slots),
    )


def slice_part(gpu: Gpu | None, profile: str | None) -> Fraction:
    """Part of a GPU that a MIG profile takes, the larger of compute and memory; 1 without one.

    A compute instance takes its part of its GPU instance. 1 for profiles that the GPU lacks.
    """
    if profile is None or gpu is None or gpu.mig is None:
        return Fraction(1)
    own = gpu_instance_of(profile)
    own = gpu.mig.alternate_names.get(own, own)
    if own not in gpu.mig.profiles:
        return Fraction(1)
    part, parsed = max(slice_parts(gpu.mig, own)), parse(profile)
    if parsed is None or parsed.compute_instance_slices is None:
        return part
    return part * parsed.compute_instance_slices / gpu.mig.profiles[own].compute_slices
