"""Volumes that the pods of a pool mount."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from gpufleet.spec.base import DnsLabel, SpecModel


def _no_dots(path: str) -> str:
    """One path has one spelling: `/data/../dev/shm` is `/dev/shm`, which pods already have."""
    if {".", ".."} & set(path.split("/")):
        raise ValueError(f"{path} goes by way of . or ..: write the path itself")
    return path


MountPath = Annotated[
    str,
    StringConstraints(pattern=r"^(/[A-Za-z0-9._-]+)+$", min_length=2, max_length=200),
    AfterValidator(_no_dots),
]
"""An absolute path in a container."""


class LustreVolume(SpecModel):
    """An existing Lustre file system: FSx for Lustre on EKS, Managed Lustre on GKE."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """EKS: id of the file system, `fs-0123456789abcdef0`. GKE: `project/zone/instance`."""
    address: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]+$", max_length=253)]
    """EKS: its DNS name. GKE: the IP address of its mount point."""
    file_system: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=63)]
    """EKS: its mount name. GKE: name of the file system."""
    size_gib: int = Field(ge=1, le=10_000_000)
    """Its size in GiB, 1 to 10000000, which the claim reports."""
    namespace: DnsLabel = "default"
    """Namespace of the claim, and of the pods that mount it. Default `default`."""


class BucketVolume(SpecModel):
    """A bucket of Cloud Storage, mounted by the Cloud Storage FUSE driver of GKE."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$")]
    """Name of the bucket. The pod's service account needs access to it (Workload Identity)."""
    mount_options: Annotated[tuple[str, ...], Field(max_length=30)] = ("implicit-dirs",)
    """Options of Cloud Storage FUSE, at most 30. Default `implicit-dirs`: folders that only object
    names imply are shown."""


class LocalNvmeVolume(SpecModel):
    """Space on the machine's own NVMe disks, empty at first and deleted with the pod."""

    size_gib: int | None = Field(default=None, ge=1, le=100_000)
    """Maximum size that a pod may write, 1 to 100000 GiB; the kubelet ends pods that write more.
    Default: no limit."""


class PoolVolume(SpecModel):
    """One volume, in one of the three kinds."""

    name: DnsLabel
    """Name of the volume, unique in the pool."""
    mount: MountPath
    """Path in the pod's container, `/data`."""
    read_only: bool = False
    """Default false."""
    lustre: LustreVolume | None = None
    """EKS and GKE. This, `bucket` or `localNvme`."""
    bucket: BucketVolume | None = None
    """GKE."""
    local_nvme: LocalNvmeVolume | None = None
    """EKS and GKE, on machines with NVMe disks that nodes format and mount."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if len(self.kinds) != 1:
            found = ", ".join(self.kinds) or "none"
            raise ValueError(f"exactly one of lustre, bucket and localNvme, found {found}")
        return self

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are given; a valid volume has one."""
        given = {"lustre": self.lustre, "bucket": self.bucket, "localNvme": self.local_nvme}
        return tuple(kind for kind, value in given.items() if value is not None)
