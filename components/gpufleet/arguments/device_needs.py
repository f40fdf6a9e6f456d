"""Inputs of components: what restates `gpufleet.spec.device_needs`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import (
    DeviceChoiceDevicesWord,
    DeviceNeedDevicesWord,
    DeviceTaintEffectWord,
    DraSharingWord,
    NvlinkReachWord,
    TimeSliceWord,
)


class DeviceChoiceArgs(TypedDict):
    """One of several alternatives of a claim."""

    devices: NotRequired[DeviceChoiceDevicesWord]
    """One of `gpu`, `mig`. Whole GPUs or MIG devices. Default: as the claim."""
    products: NotRequired[list[str]]
    """Accepted GPUs, by their names in the catalogue. Default: the pool's GPU."""
    count: NotRequired[int]
    """Devices, all on one node. Default 1."""
    memory_mib: NotRequired[int]
    """Minimum memory of each device in MiB. Default: any."""
    profile: NotRequired[str]
    """MIG profile of each device. Default: any."""


class DeviceTolerationArgs(TypedDict):
    """A taint of devices that a claim tolerates."""

    key: NotRequired[str]
    """Key of the taint. Default: every key."""
    value: NotRequired[str]
    """Value of the taint. Default: every value."""
    effect: NotRequired[DeviceTaintEffectWord]
    """One of `NoSchedule`, `NoExecute`. Default: both."""
    seconds: NotRequired[int]
    """With NoExecute: time that its pods stay. Default: no limit."""


class DeviceNeedArgs(TypedDict):
    """A claim by requirements: made as a template, or with `sharing` as claims that pods
    share."""

    sharing: NotRequired[DraSharingWord]
    """One of `exclusive`, `timeSlicing`, `mps`. How pods share one claim. Default exclusive."""
    clients: NotRequired[int]
    """Number of pods that share one claim, 2 to 256: sets the MPS limits of each and the number
    of shares. Default 2 with `timeSlicing` and `mps`; no effect with `exclusive`."""
    interval: NotRequired[TimeSliceWord]
    """One of `Default`, `Short`, `Medium`, `Long`. With whole GPUs and `timeSlicing`: length of a
    turn. Default: the driver's default."""
    active_thread_percentage: NotRequired[int]
    """With `mps`: percent of the device's threads that one client may use at once, 1 to 100.
    Default: 100 / clients."""
    pinned_memory_mib: NotRequired[int]
    """With `mps`: MiB of device memory that one client may allocate, at most memory / clients.
    Default: memory / clients."""
    name: str
    """The template is called `<pool>-<name>`."""
    devices: NotRequired[DeviceNeedDevicesWord]
    """One of `gpu`, `mig`, `vfio`. Whole GPUs or MIG devices; `vfio`: whole GPUs for virtual
    machines, bound to vfio-pci (driver gate PassthroughSupport). Default: as the pool."""
    count: NotRequired[int]
    """Devices of one claim, all on one node. Default 1; Kubernetes allows 32."""
    memory_mib: NotRequired[int]
    """Minimum memory of each device in MiB. Default: any."""
    multiprocessors: NotRequired[int]
    """Minimum number of streaming multiprocessors of each MIG device; the driver publishes it for
    MIG devices only. Default: any."""
    profile: NotRequired[str]
    """MIG profile of each device. Default: any."""
    products: NotRequired[list[str]]
    """Accepted GPUs, by their names in the catalogue, including the pool's. Pods with such a
    claim can run on every pool with one of the GPUs. Default: the pool's GPU."""
    same_pcie_root: NotRequired[bool]
    """All devices of the claim are under one PCIe root. Default false."""
    nvlink: NotRequired[NvlinkReachWord]
    """One of `machine`, `domain`. `machine`: the GPUs of the claim are connected by NVLink.
    `domain`: also with those of other machines; the pool gets a ComputeDomain, and the pod a
    channel. Default: not needed."""
    first_available: NotRequired[list[DeviceChoiceArgs]]
    """Alternatives of the claim, the preferred one first, instead of `products`, `count`,
    `memoryMib` and `profile`: an H200, else two H100. One of them names the pool's GPU. Needs
    DRAPrioritizedList, on by default in Kubernetes 1.34. Default: none, one alternative."""
    tolerations: NotRequired[list[DeviceTolerationArgs]]
    """Taints of devices that the claim tolerates. Needs DRADeviceTaints, on by default in
    Kubernetes 1.36. Default: none."""
    admin_access: NotRequired[bool]
    """Access to devices that others use, for monitoring: only in namespaces with the label
    `resource.kubernetes.io/admin-access: "true"`. Needs DRAAdminAccess, on by default in
    Kubernetes 1.34. Default false."""
    share_memory_mib: NotRequired[int]
    """With `consumableShares: memory`: memory of each device that the claim uses, in MiB.
    Default: the driver's."""
    shared_claims: NotRequired[int]
    """With `timeSlicing` or `mps`: number of ResourceClaims, 1 to 256. Default 1."""


class DeviceTaintArgs(TypedDict):
    """A DeviceTaintRule: a taint of a driver's devices, set for maintenance and removed later."""

    name: str
    """Name of the rule."""
    driver: NotRequired[str]
    """Driver of the devices. Default `gpu.nvidia.com`."""
    node: NotRequired[str]
    """Pool of the driver's slices, which is the name of the node. Default: every node."""
    device: NotRequired[str]
    """Device name of the driver, `gpu-3`. Default: every device."""
    key: str
    """Key of the taint, `example.com/maintenance`."""
    value: NotRequired[str]
    """Default: empty."""
    effect: NotRequired[DeviceTaintEffectWord]
    """One of `NoSchedule`, `NoExecute`. Default NoSchedule."""
