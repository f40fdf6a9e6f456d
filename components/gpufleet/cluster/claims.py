"""DeviceClaim: devices requested through dynamic resource allocation, and their device classes."""

from dataclasses import dataclass, field

from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.subject import Subject
from gpufleet.partition.shares import GPU_CLASS, MIG_CLASS, VFIO_CLASS


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """One device request of a claim, or one of its alternatives."""

    name: str
    place: str
    """Field path of the fields below: `spec.devices.requests[0].exactly`."""
    device_class: Fact[str]
    allocation: Fact[str]
    """`ExactCount` or `All`, the default applied."""
    count: Fact[int]
    selectors: Fact[int]
    """Number of CEL selectors; absent: none."""
    alternative: bool = False
    """Whether it is one of several under `firstAvailable`."""
    admin_access: bool = False
    """Whether it requests devices that are in use, as monitoring does."""
    product: str = ""
    """Product that a selector requires; empty: none, or a selector of another form."""

    @property
    def is_gpu(self) -> bool:
        """Whether it requests GPUs or parts of them, by a class of NVIDIA's driver."""
        classes = (GPU_CLASS, MIG_CLASS, VFIO_CLASS)
        return self.device_class.is_known and self.device_class.value in classes


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClaim(Subject):
    """A ResourceClaim or ResourceClaimTemplate."""

    is_template: bool
    requests: tuple[DeviceRequest, ...] = ()
    configured: bool = False
    """Whether it has its own device configuration, which declares the sharing."""

    @property
    def asks_for_gpus(self) -> bool:
        """Whether any of its requests is for a GPU or a part of one."""
        return any(request.is_gpu for request in self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass(Subject):
    """A DeviceClass that is declared in addition to the classes of the driver."""

    selectors: Fact[int] = field(default_factory=lambda: NOTHING)
