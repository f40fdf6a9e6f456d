"""Disks and network adapters of a machine on vSphere."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpufleet.spec.base import SpecModel

LARGEST_DISK_GIB = 63_488
"""62 TiB, the largest virtual disk (VMware's configuration maximums, vSphere 7 and 8, read
2026-11-22)."""

MOST_DISKS = 14
"""Further disks of a machine: a SCSI controller has 15, and the first disk is on it."""

MOST_NETWORKS = 10
"""Network adapters of a virtual machine (VMware's configuration maximums, read 2026-11-22)."""

DiskName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$")]
"""1 to 32 of a-z, 0-9 and inner hyphens."""


class DiskFormat(StrEnum):
    """How the space of a virtual disk is taken."""

    THIN = "thin"
    """As it is written; the default."""
    THICK = "thick"
    """At once, zeroed when it is first written."""
    EAGER_ZEROED = "eagerZeroed"
    """At once, and zeroed: making it takes as long as writing it full."""


class VsphereDisk(SpecModel):
    """A disk of each machine next to the template's."""

    name: DiskName
    """Its identity: another name is another disk, and the old one goes with what is on it. 1 to 32
    of a-z, 0-9 and inner hyphens."""
    size_gib: int = Field(ge=1, le=LARGEST_DISK_GIB)
    """1 to 63488 (62 TiB). It can grow while the machine runs, and never shrink."""
    format: DiskFormat = DiskFormat.THIN
    """How its space is taken. It is chosen when the disk is made. Default thin."""
    datastore: str | None = Field(default=None, min_length=1, max_length=200)
    """Datastore of the disk, which every host of the machine must mount. Default: next to the
    machine's first disk."""
    keep: bool = False
    """Whether its file stays in the datastore when the disk or its machine goes: detached, and not
    attached to another by gpufleet. Default false: it is deleted."""


def named_twice(disks: Sequence[VsphereDisk]) -> list[str]:
    """Names that more than one of the disks has, sorted."""
    return sorted(name for name, count in Counter(disk.name for disk in disks).items() if count > 1)


class VsphereNetwork(SpecModel):
    """A network adapter of each machine."""

    network: str = Field(min_length=1, max_length=200)
    """Port group or distributed port group, by name or inventory path. It may change while the
    machine runs."""
    adapter: Literal["vmxnet3", "e1000e"] | None = None
    """Type of the adapter; another type is another adapter, with another MAC address. Default:
    vmxnet3, or what the template has at its place."""


class DrsBehavior(StrEnum):
    """What DRS may do with one machine, whatever it does with others of the cluster."""

    FULLY_AUTOMATED = "fullyAutomated"
    """Place and move it."""
    PARTIALLY_AUTOMATED = "partiallyAutomated"
    """Place it, and propose where to move it."""
    MANUAL = "manual"
    """Propose only."""
    DISABLED = "disabled"
    """Leave it where it is."""
