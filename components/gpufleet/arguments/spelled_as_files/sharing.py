"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.sharing`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.sharing import MigLayoutArgs
from gpufleet.arguments.spelled_as_files.device_needs import DeviceNeedDict
from gpufleet.arguments.words import (
    DraConsumableSharesWord,
    DraDevicesWord,
    DraSharingWord,
    MigStrategyWord,
    TimeSliceWord,
    VgpuSchedulerWord,
)


class TimeSlicingDict(TypedDict):
    """Containers take turns on the GPU: no memory isolation, no guaranteed share."""

    replicas: int
    """Number of replicas that each GPU (or, on MIG, each slice) is advertised as; 2 to 256."""
    rename: NotRequired[bool]
    """Advertise `nvidia.com/gpu.shared`, so that a pod that needs a whole GPU is not scheduled
    here. Default true."""
    failRequestsGreaterThanOne: NotRequired[bool]
    """Refuse pods that request more than one replica: two replicas are not twice the share.
    Default true."""


class MpsDict(TypedDict):
    """CUDA Multi-Process Service: concurrent kernels with a memory and thread limit per
    client."""

    replicas: int
    """Number of clients of each GPU. The GPU's own limit (48, 16 before Volta) is checked when
    the fleet is compiled."""
    rename: NotRequired[bool]
    """Advertise `nvidia.com/gpu.shared`. Default true."""
    activeThreadPercentage: NotRequired[int]
    """Percent of the GPU's threads that a container of the pool may use at once, 1 to 100 and at
    most 100 / replicas: a client can only lower the limit of the control daemon. Pods get it as
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE. Default: 100 / replicas."""
    pinnedMemoryMib: NotRequired[int]
    """MiB of device memory that a container of the pool may allocate, at most the share's. Pods
    get it as CUDA_MPS_PINNED_DEVICE_MEM_LIMIT. Default: memory / replicas."""


class MigDict(TypedDict):
    """Multi-Instance GPU: hardware slices with memory and fault isolation."""

    strategy: NotRequired[MigStrategyWord]
    """One of `single`, `mixed`. `mixed` (default): one resource per profile. `single`: one
    profile on every GPU, as `nvidia.com/gpu`."""
    layout: NotRequired[str]
    """Name of a configuration in NVIDIA's default mig-parted file, for every GPU of each node:
    `all-balanced`, `all-1g.10gb`, `all-1g.10gb.me`. Its devices depend on the GPU model of the
    pool. Instead of `layouts`."""
    layouts: NotRequired[Sequence[MigLayoutArgs]]
    """Partitions of the GPUs of each node, in order of GPU index. The remaining GPUs stay whole.
    Exactly one of `layout` and `layouts` is needed."""
    timeSlicing: NotRequired[TimeSlicingDict]
    """Time-slice each MIG slice further. Default: slices are exclusive."""


class VgpuDict(TypedDict):
    """NVIDIA vGPU: the hypervisor assigns each virtual machine a share of a GPU."""

    profile: str
    """vGPU type as vCenter lists it, `grid_a100-40c`, or MIG-backed `grid_a100-3-20c`, or as
    `nvidia-smi vgpu -s` prints it: `NVIDIA RTX Pro 6000 Blackwell DC-1-24C`. With or without the
    prefix, in any case."""
    licenseSecret: NotRequired[str]
    """Name of the Secret with `gridd.conf` and `client_configuration_token.tok`, in the GPU
    Operator's namespace. Default: none, an unlicensed guest is throttled."""
    scheduler: NotRequired[VgpuSchedulerWord]
    """One of `bestEffort`, `equalShare`, `fixedShare`. Scheduler setting of the pool's hosts, for
    time-sliced types: it decides the guaranteed share of each vGPU. Default: not known, so no
    share is guaranteed."""
    timeSliceMs: NotRequired[int]
    """With `equalShare` or `fixedShare`: length of a turn in milliseconds, 1 to 30. Default: the
    host's."""
    timeSlicing: NotRequired[TimeSlicingDict]
    """Share each vGPU between containers of its machine by time-slicing. Default: one container
    each."""


class DraDict(TypedDict):
    """Dynamic Resource Allocation: the DRA driver publishes the GPUs, the device plugin is
    off."""

    sharing: NotRequired[DraSharingWord]
    """One of `exclusive`, `timeSlicing`, `mps`. How pods share one claim. Default exclusive."""
    clients: NotRequired[int]
    """Number of pods that share one claim, 2 to 256: sets the MPS limits of each and the number
    of shares. Default 2 with `timeSlicing` and `mps`; no effect with `exclusive`."""
    interval: NotRequired[TimeSliceWord]
    """One of `Default`, `Short`, `Medium`, `Long`. With whole GPUs and `timeSlicing`: length of a
    turn. Default: the driver's default."""
    activeThreadPercentage: NotRequired[int]
    """With `mps`: percent of the device's threads that one client may use at once, 1 to 100.
    Default: 100 / clients."""
    pinnedMemoryMib: NotRequired[int]
    """With `mps`: MiB of device memory that one client may allocate, at most memory / clients.
    Default: memory / clients."""
    devices: NotRequired[DraDevicesWord]
    """One of `gpu`, `mig`. `gpu` (default): whole GPUs. `mig`: MIG devices, created on demand or
    as in `layouts`."""
    layout: NotRequired[str]
    """With `devices: mig`: name of a configuration in NVIDIA's default mig-parted file, such as
    `all-balanced`, for every GPU of each node. Instead of `layouts`. Default: none."""
    layouts: NotRequired[Sequence[MigLayoutArgs]]
    """With `devices: mig`: partitions of each node's GPUs, made by the MIG manager in advance.
    Default: none, the driver creates them on demand (Hopper and later, driver gate
    DynamicMIG)."""
    extendedResource: NotRequired[bool]
    """Also serve extended resources, `nvidia.com/gpu` or `nvidia.com/mig-<profile>` (needs
    DRAExtendedResource, on by default in Kubernetes 1.36). Default false."""
    consumableShares: NotRequired[DraConsumableSharesWord | int]
    """Several claims on each device: `memory`, each uses a part of the memory; a number of
    shares; `unlimited`. One setting for the cluster's driver (0.5.0, gate ConsumableShares);
    needs DRAConsumableCapacity, on by default in Kubernetes 1.36. Default: each device has one
    claim."""
    claims: NotRequired[Sequence[DeviceNeedDict]]
    """Claims by requirements, in addition to those for the pool's kinds of devices. Default:
    none."""
    namespaces: NotRequired[Sequence[str]]
    """Namespaces that get the pool's claim templates. Default: none, pods have their own."""
    computeDomain: NotRequired[bool]
    """Create a ComputeDomain in each of `namespaces`, for machines that share an NVLink domain:
    its claim template `<pool>-channel` gives the pods of a job over several nodes a channel of
    IMEX. Default false."""


class SharingDict(TypedDict):
    """Exactly one way of sharing. `exclusive: {}` is the default of a pool."""

    exclusive: NotRequired[Mapping[str, Any]]
    """Whole GPUs, one container each."""
    timeSlicing: NotRequired[TimeSlicingDict]
    """Containers take turns on each GPU."""
    mps: NotRequired[MpsDict]
    """Concurrent kernels with limits per client."""
    mig: NotRequired[MigDict]
    """Hardware slices."""
    vgpu: NotRequired[VgpuDict]
    """A vGPU profile, on a hypervisor."""
    dra: NotRequired[DraDict]
    """Resource claims instead of extended resources."""
