"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.storage`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class LustreVolumeDict(TypedDict):
    """An existing Lustre file system: FSx for Lustre on EKS, Managed Lustre on GKE."""

    id: str
    """EKS: id of the file system, `fs-0123456789abcdef0`. GKE: `project/zone/instance`."""
    address: str
    """EKS: its DNS name. GKE: the IP address of its mount point."""
    fileSystem: str
    """EKS: its mount name. GKE: name of the file system."""
    sizeGib: int
    """Its size in GiB, 1 to 10000000, which the claim reports."""
    namespace: NotRequired[str]
    """Namespace of the claim, and of the pods that mount it. Default `default`."""


class BucketVolumeDict(TypedDict):
    """A bucket of Cloud Storage, mounted by the Cloud Storage FUSE driver of GKE."""

    name: str
    """Name of the bucket. The pod's service account needs access to it (Workload Identity)."""
    mountOptions: NotRequired[Sequence[str]]
    """Options of Cloud Storage FUSE, at most 30. Default `implicit-dirs`: folders that only
    object names imply are shown."""


class LocalNvmeVolumeDict(TypedDict):
    """Space on the machine's own NVMe disks, empty at first and deleted with the pod."""

    sizeGib: NotRequired[int]
    """Maximum size that a pod may write, 1 to 100000 GiB; the kubelet ends pods that write more.
    Default: no limit."""


class PoolVolumeDict(TypedDict):
    """One volume, in one of the three kinds."""

    name: str
    """Name of the volume, unique in the pool."""
    mount: str
    """Path in the pod's container, `/data`."""
    readOnly: NotRequired[bool]
    """Default false."""
    lustre: NotRequired[LustreVolumeDict]
    """EKS and GKE. This, `bucket` or `localNvme`."""
    bucket: NotRequired[BucketVolumeDict]
    """GKE."""
    localNvme: NotRequired[LocalNvmeVolumeDict]
    """EKS and GKE, on machines with NVMe disks that nodes format and mount."""
