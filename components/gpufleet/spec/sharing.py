"""How the GPUs of a pool are shared: one tagged union, declared once, on the pool."""

from collections import Counter
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import DnsLabel, OneOf, SecretName, SpecModel
from gpufleet.spec.device_needs import ClaimTerms, DeviceNeed
from gpufleet.spec.mig_names import MigPreset, ProfileName


class MigStrategy(StrEnum):
    """How the device plugin names MIG devices."""

    SINGLE = "single"
    """Every GPU has the same profile, advertised as `nvidia.com/gpu`."""
    MIXED = "mixed"
    """Each profile is a separate resource: `nvidia.com/mig-1g.10gb`."""


class Exclusive(SpecModel):
    """Whole GPUs, one container each. The default."""


class TimeSlicing(SpecModel):
    """Containers take turns on the GPU: no memory isolation, no guaranteed share."""

    replicas: int = Field(ge=2, le=256)
    """Number of replicas that each GPU (or, on MIG, each slice) is advertised as; 2 to 256."""
    rename: bool = True
    """Advertise `nvidia.com/gpu.shared`, so that a pod that needs a whole GPU is not scheduled
    here. Default true."""
    fail_requests_greater_than_one: bool = True
    """Refuse pods that request more than one replica: two replicas are not twice the share.
    Default true."""


class Mps(SpecModel):
    """CUDA Multi-Process Service: concurrent kernels with a memory and thread limit per client."""

    replicas: int = Field(ge=2, le=256)
    """Number of clients of each GPU. The GPU's own limit (48, 16 before Volta) is checked when
    the fleet is compiled."""
    rename: bool = True
    """Advertise `nvidia.com/gpu.shared`. Default true."""
    active_thread_percentage: int | None = Field(default=None, ge=1, le=100)
    """Percent of the GPU's threads that a container of the pool may use at once, 1 to 100 and at
    most 100 / replicas: a client can only lower the limit of the control daemon. Pods get it as
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE. Default: 100 / replicas."""
    pinned_memory_mib: int | None = Field(default=None, ge=1, le=1_048_576)
    """MiB of device memory that a container of the pool may allocate, at most the share's. Pods
    get it as CUDA_MPS_PINNED_DEVICE_MEM_LIMIT. Default: memory / replicas."""


class MigLayout(SpecModel):
    """Partition of some of the GPUs of each node."""

    gpus: int | Literal["all"] = "all"
    """Number of GPUs of the node with this layout, or `all` (default: every GPU of the node)."""
    devices: dict[ProfileName, Annotated[int, Field(ge=1, le=64)]]
    """Profile -> instances on each of these GPUs, such as `{1g.10gb: 7}`. An empty mapping leaves
    the GPUs whole, without MIG; several layouts then need `strategy: mixed`."""


class Mig(SpecModel):
    """Multi-Instance GPU: hardware slices with memory and fault isolation."""

    strategy: MigStrategy = MigStrategy.MIXED
    """`mixed` (default): one resource per profile. `single`: one profile on every GPU, as
    `nvidia.com/gpu`."""
    layout: MigPreset | None = None
    """Name of a configuration in NVIDIA's default mig-parted file, for every GPU of each node:
    `all-balanced`, `all-1g.10gb`, `all-1g.10gb.me`. Its devices depend on the GPU model of the
    pool. Instead of `layouts`."""
    layouts: Annotated[tuple[MigLayout, ...], Field(max_length=16)] = ()
    """Partitions of the GPUs of each node, in order of GPU index. The remaining GPUs stay whole.
    Exactly one of `layout` and `layouts` is needed."""
    time_slicing: TimeSlicing | None = None
    """Time-slice each MIG slice further. Default: slices are exclusive."""


class VgpuScheduler(StrEnum):
    """How the hypervisor divides the time of a GPU between time-sliced vGPUs."""

    BEST_EFFORT = "bestEffort"
    """Turns for vGPUs with work; no vGPU has a guaranteed share. The default of hosts."""
    EQUAL_SHARE = "equalShare"
    """An equal share for each running vGPU."""
    FIXED_SHARE = "fixedShare"
    """An equal share for each vGPU that the GPU can hold, even if others do not run."""


class Vgpu(SpecModel):
    """NVIDIA vGPU: the hypervisor assigns each virtual machine a share of a GPU."""

    profile: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9_ ]+-[A-Za-z0-9-]+$", max_length=60)
    ]
    """vGPU type as vCenter lists it, `grid_a100-40c`, or MIG-backed `grid_a100-3-20c`, or as
    `nvidia-smi vgpu -s` prints it: `NVIDIA RTX Pro 6000 Blackwell DC-1-24C`. With or without the
    prefix, in any case."""
    license_secret: SecretName | None = None
    """Name of the Secret with `gridd.conf` and `client_configuration_token.tok`, in the GPU
    Operator's namespace. Default: none, an unlicensed guest is throttled."""
    scheduler: VgpuScheduler | None = None
    """Scheduler setting of the pool's hosts, for time-sliced types: it decides the guaranteed share
    of each vGPU. Default: not known, so no share is guaranteed."""
    time_slice_ms: int | None = Field(default=None, ge=1, le=30)
    """With `equalShare` or `fixedShare`: length of a turn in milliseconds, 1 to 30. Default: the
    host's."""
    time_slicing: TimeSlicing | None = None
    """Share each vGPU between containers of its machine by time-slicing. Default: one container
    each."""


class Dra(ClaimTerms):
    """Dynamic Resource Allocation: the DRA driver publishes the GPUs, the device plugin is off."""

    devices: Literal["gpu", "mig"] = "gpu"
    """`gpu` (default): whole GPUs. `mig`: MIG devices, created on demand or as in `layouts`."""
    layout: MigPreset | None = None
    """With `devices: mig`: name of a configuration in NVIDIA's default mig-parted file, such as
    `all-balanced`, for every GPU of each node. Instead of `layouts`. Default: none."""
    layouts: Annotated[tuple[MigLayout, ...], Field(max_length=16)] = ()
    """With `devices: mig`: partitions of each node's GPUs, made by the MIG manager in advance.
    Default: none, the driver creates them on demand (Hopper and later, driver gate DynamicMIG)."""
    extended_resource: bool = False
    """Also serve extended resources, `nvidia.com/gpu` or `nvidia.com/mig-<profile>` (needs
    DRAExtendedResource, on by default in Kubernetes 1.36). Default false."""
    consumable_shares: (
        Literal["memory", "unlimited"] | Annotated[int, Field(ge=2, le=256)] | None
    ) = None
    """Several claims on each device: `memory`, each uses a part of the memory; a number of shares;
    `unlimited`. One setting for the cluster's driver (0.5.0, gate ConsumableShares); needs
    DRAConsumableCapacity, on by default in Kubernetes 1.36. Default: each device has one claim."""
    claims: Annotated[tuple[DeviceNeed, ...], Field(max_length=64)] = ()
    """Claims by requirements, in addition to those for the pool's kinds of devices. Default:
    none."""
    namespaces: Annotated[tuple[DnsLabel, ...], Field(max_length=64)] = ()
    """Namespaces that get the pool's claim templates. Default: none, pods have their own."""
    compute_domain: bool = False
    """Create a ComputeDomain in each of `namespaces`, for machines that share an NVLink domain: its
    claim template `<pool>-channel` gives the pods of a job over several nodes a channel of IMEX.
    Default false."""

    @model_validator(mode="after")
    def _names_of_their_own(self) -> Self:
        for name, number in Counter(need.name for need in self.claims).items():
            if number > 1:
                raise ValueError(f"{number} claims are called {name}: give each its own name")
        return self


class Sharing(OneOf):
    """Exactly one way of sharing. `exclusive: {}` is the default of a pool."""

    example: ClassVar[str] = "timeSlicing: {replicas: 4}"

    exclusive: Exclusive | None = None
    """Whole GPUs, one container each."""
    time_slicing: TimeSlicing | None = None
    """Containers take turns on each GPU."""
    mps: Mps | None = None
    """Concurrent kernels with limits per client."""
    mig: Mig | None = None
    """Hardware slices."""
    vgpu: Vgpu | None = None
    """A vGPU profile, on a hypervisor."""
    dra: Dra | None = None
    """Resource claims instead of extended resources."""


def exclusive() -> Sharing:
    """Whole GPUs: the default of a pool."""
    return Sharing(exclusive=Exclusive())
