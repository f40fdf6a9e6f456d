"""Device requirements of a claim, and how its pods share the devices: `sharing.dra.claims`."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpufleet.spec.base import DnsLabel, SpecModel
from gpufleet.spec.mig_names import ProfileName

ProductName = Annotated[str, StringConstraints(min_length=1, max_length=60)]


class DraSharing(StrEnum):
    """How the DRA driver shares the devices of a claim."""

    EXCLUSIVE = "exclusive"
    """Each claim is for one pod."""
    TIME_SLICING = "timeSlicing"
    """The pods of one claim take turns."""
    MPS = "mps"
    """The pods of one claim run at once, within limits of memory and threads."""


class TimeSlice(StrEnum):
    """Length of a turn, in the driver's terms."""

    DEFAULT = "Default"
    SHORT = "Short"
    MEDIUM = "Medium"
    LONG = "Long"


class NvlinkReach(StrEnum):
    """GPUs that a claim needs to reach by NVLink."""

    MACHINE = "machine"
    """The other GPUs of the claim, in one machine."""
    DOMAIN = "domain"
    """Also GPUs of other machines, through a ComputeDomain."""


class ClaimTerms(SpecModel):
    """How the pods of one claim share its devices: the driver's GpuConfig or MigDeviceConfig."""

    sharing: DraSharing = DraSharing.EXCLUSIVE
    """How pods share one claim. Default exclusive."""
    clients: int | None = Field(default=None, ge=2, le=256)
    """Number of pods that share one claim, 2 to 256: sets the MPS limits of each and the number of
    shares. Default 2 with `timeSlicing` and `mps`; no effect with `exclusive`."""
    interval: TimeSlice | None = None
    """With whole GPUs and `timeSlicing`: length of a turn. Default: the driver's default."""
    active_thread_percentage: int | None = Field(default=None, ge=1, le=100)
    """With `mps`: percent of the device's threads that one client may use at once, 1 to 100.
    Default: 100 / clients."""
    pinned_memory_mib: int | None = Field(default=None, ge=1, le=1_048_576)
    """With `mps`: MiB of device memory that one client may allocate, at most memory / clients.
    Default: memory / clients."""


class DeviceTaintEffect(StrEnum):
    """Effect of a taint of a device."""

    NO_SCHEDULE = "NoSchedule"
    """No new claim gets the device."""
    NO_EXECUTE = "NoExecute"
    """As NoSchedule, and pods that use it are evicted."""


class DeviceToleration(SpecModel):
    """A taint of devices that a claim tolerates."""

    key: str | None = Field(default=None, min_length=1, max_length=316)
    """Key of the taint. Default: every key."""
    value: str | None = Field(default=None, max_length=63)
    """Value of the taint. Default: every value."""
    effect: DeviceTaintEffect | None = None
    """Default: both."""
    seconds: int | None = Field(default=None, ge=0)
    """With NoExecute: time that its pods stay. Default: no limit."""


class DeviceTaint(SpecModel):
    """A DeviceTaintRule: a taint of a driver's devices, set for maintenance and removed later."""

    name: DnsLabel
    """Name of the rule."""
    driver: str = Field(default="gpu.nvidia.com", min_length=1, max_length=63)
    """Driver of the devices. Default `gpu.nvidia.com`."""
    node: str | None = Field(default=None, min_length=1, max_length=253)
    """Pool of the driver's slices, which is the name of the node. Default: every node."""
    device: str | None = Field(default=None, min_length=1, max_length=63)
    """Device name of the driver, `gpu-3`. Default: every device."""
    key: str = Field(min_length=1, max_length=316)
    """Key of the taint, `example.com/maintenance`."""
    value: str = Field(default="", max_length=63)
    """Default: empty."""
    effect: DeviceTaintEffect = DeviceTaintEffect.NO_SCHEDULE
    """Default NoSchedule."""


class DeviceChoice(SpecModel):
    """One of several alternatives of a claim."""

    devices: Literal["gpu", "mig"] | None = None
    """Whole GPUs or MIG devices. Default: as the claim."""
    products: Annotated[tuple[ProductName, ...], Field(max_length=16)] = ()
    """Accepted GPUs, by their names in the catalogue. Default: the pool's GPU."""
    count: int = Field(default=1, ge=1, le=32)
    """Devices, all on one node. Default 1."""
    memory_mib: int | None = Field(default=None, ge=1, le=1_048_576)
    """Minimum memory of each device in MiB. Default: any."""
    profile: ProfileName | None = None
    """MIG profile of each device. Default: any."""


class DeviceNeed(ClaimTerms):
    """A claim by requirements: made as a template, or with `sharing` as claims that pods share."""

    name: DnsLabel
    """The template is called `<pool>-<name>`."""
    devices: Literal["gpu", "mig", "vfio"] | None = None
    """Whole GPUs or MIG devices; `vfio`: whole GPUs for virtual machines, bound to vfio-pci (driver
    gate PassthroughSupport). Default: as the pool."""
    count: int = Field(default=1, ge=1, le=32)
    """Devices of one claim, all on one node. Default 1; Kubernetes allows 32."""
    memory_mib: int | None = Field(default=None, ge=1, le=1_048_576)
    """Minimum memory of each device in MiB. Default: any."""
    multiprocessors: int | None = Field(default=None, ge=1, le=1024)
    """Minimum number of streaming multiprocessors of each MIG device; the driver publishes it for
    MIG devices only. Default: any."""
    profile: ProfileName | None = None
    """MIG profile of each device. Default: any."""
    products: Annotated[tuple[ProductName, ...], Field(max_length=16)] = ()
    """Accepted GPUs, by their names in the catalogue, including the pool's. Pods with such a claim
    can run on every pool with one of the GPUs. Default: the pool's GPU."""
    same_pcie_root: bool = False
    """All devices of the claim are under one PCIe root. Default false."""
    nvlink: NvlinkReach | None = None
    """`machine`: the GPUs of the claim are connected by NVLink. `domain`: also with those of other
    machines; the pool gets a ComputeDomain, and the pod a channel. Default: not needed."""
    first_available: Annotated[tuple[DeviceChoice, ...], Field(max_length=8)] = ()
    """Alternatives of the claim, the preferred one first, instead of `products`, `count`,
    `memoryMib` and `profile`: an H200, else two H100. One of them names the pool's GPU. Needs
    DRAPrioritizedList, on by default in Kubernetes 1.34. Default: none, one alternative."""
    tolerations: Annotated[tuple[DeviceToleration, ...], Field(max_length=16)] = ()
    """Taints of devices that the claim tolerates. Needs DRADeviceTaints, on by default in
    Kubernetes 1.36. Default: none."""
    admin_access: bool = False
    """Access to devices that others use, for monitoring: only in namespaces with the label
    `resource.kubernetes.io/admin-access: "true"`. Needs DRAAdminAccess, on by default in Kubernetes
    1.34. Default false."""
    share_memory_mib: int | None = Field(default=None, ge=1, le=1_048_576)
    """With `consumableShares: memory`: memory of each device that the claim uses, in MiB. Default:
    the driver's."""
    shared_claims: int | None = Field(default=None, ge=1, le=256)
    """With `timeSlicing` or `mps`: number of ResourceClaims, 1 to 256. Default 1."""
