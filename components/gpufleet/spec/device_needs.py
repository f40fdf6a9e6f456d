"""What a claim needs of its devices, and how its pods share them: `sharing.dra.claims`."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpufleet.spec.base import DnsLabel, SpecModel
from gpufleet.spec.mig_names import ProfileName

ProductName = Annotated[str, StringConstraints(min_length=1, max_length=60)]


class DraSharing(StrEnum):
    """How the DRA driver shares what a claim was given."""

    EXCLUSIVE = "exclusive"
    """Each claim is for one pod."""
    TIME_SLICING = "timeSlicing"
    """The pods of one claim take turns."""
    MPS = "mps"
    """The pods of one claim run at once, within limits of memory and threads."""


class TimeSlice(StrEnum):
    """How long a turn lasts, in the driver's words."""

    DEFAULT = "Default"
    SHORT = "Short"
    MEDIUM = "Medium"
    LONG = "Long"


class NvlinkReach(StrEnum):
    """Which GPUs a claim needs to reach by NVLink."""

    MACHINE = "machine"
    """The other GPUs of the claim, in one machine."""
    DOMAIN = "domain"
    """Those of other machines too, through a ComputeDomain."""


class ClaimTerms(SpecModel):
    """How the pods of one claim share its devices: the driver's GpuConfig or MigDeviceConfig."""

    sharing: DraSharing = DraSharing.EXCLUSIVE
    """How pods share one claim. Default exclusive."""
    clients: int | None = Field(default=None, ge=2, le=256)
    """Pods that one shared claim is meant for, 2 to 256: sets the MPS limits of each and the number
    of shares. Default 2 with `timeSlicing` and `mps`; no meaning with `exclusive`."""
    interval: TimeSlice | None = None
    """With whole GPUs and `timeSlicing`: length of a turn. Default: the driver's default."""
    active_thread_percentage: int | None = Field(default=None, ge=1, le=100)
    """With `mps`: percent of the device's threads that one client may use at once, 1 to 100.
    Default: 100 / clients."""
    pinned_memory_mib: int | None = Field(default=None, ge=1, le=1_048_576)
    """With `mps`: MiB of device memory that one client may allocate, at most memory / clients.
    Default: memory / clients."""


class DeviceNeed(ClaimTerms):
    """A claim by what it needs: made as a template, or with `sharing` as claims that pods share."""

    name: DnsLabel
    """The template is called `<pool>-<name>`."""
    devices: Literal["gpu", "mig"] | None = None
    """Whole GPUs or MIG devices. Default: as the pool."""
    count: int = Field(default=1, ge=1, le=32)
    """Devices of one claim, all on one node. Default 1; Kubernetes allows 32."""
    memory_mib: int | None = Field(default=None, ge=1, le=1_048_576)
    """Least memory of each device in MiB. Default: any."""
    multiprocessors: int | None = Field(default=None, ge=1, le=1024)
    """Least number of streaming multiprocessors of each MIG device; the driver publishes it of MIG
    devices only. Default: any."""
    profile: ProfileName | None = None
    """MIG profile of each device. Default: any."""
    products: Annotated[tuple[ProductName, ...], Field(max_length=16)] = ()
    """GPUs that will do, by their names in the catalogue; the pool's is one of them. Pods with such
    a claim can run on every pool with one of the GPUs. Default: the pool's GPU."""
    same_pcie_root: bool = False
    """All devices of the claim under one PCIe root. Default false."""
    nvlink: NvlinkReach | None = None
    """`machine`: the GPUs of the claim reach each other by NVLink. `domain`: those of other
    machines too; the pool gets a ComputeDomain, and the pod a channel. Default: not needed."""
    shared_claims: int | None = Field(default=None, ge=1, le=256)
    """With `timeSlicing` or `mps`: ResourceClaims that are made, 1 to 256. Default 1."""
