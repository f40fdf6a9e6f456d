"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.platforms.vsphere_devices`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.words import DiskFormatWord, VsphereNetworkAdapterWord


class VsphereDiskDict(TypedDict):
    """A disk of each machine in addition to those of the template."""

    name: str
    """Its identity: another name is another disk, and the old one is deleted with its data. 1 to
    32 of a-z, 0-9 and inner hyphens."""
    sizeGib: int
    """1 to 63488 (62 TiB). It can grow while the machine runs, and never shrink."""
    format: NotRequired[DiskFormatWord]
    """One of `thin`, `thick`, `eagerZeroed`. Allocation of its space, fixed at creation. Default
    thin."""
    datastore: NotRequired[str]
    """Datastore of the disk, which every host of the machine must mount. Default: that of the
    machine's first disk."""
    keep: NotRequired[bool]
    """Whether its file stays in the datastore when the disk or its machine is removed: detached,
    and gpufleet does not attach it again. Default false: it is deleted."""


class VsphereAddressesDict(TypedDict):
    """Static addresses of one adapter of a pool's machines."""

    ranges: Sequence[str]
    """Addresses, and ranges of them, in order: machine 0 has the first one, machine 7 the eighth.
    Addresses of named machines are in `machines`."""
    prefix: int
    """Length of the network's prefix: 24 of `10.0.0.0/24`."""
    gateway: NotRequired[str]
    """Default route. Default: none on this adapter."""
    nameservers: NotRequired[Sequence[str]]
    """DNS servers, at most 8. Default: none."""
    searchDomains: NotRequired[Sequence[str]]
    """Domains for resolving short names, at most 16. Default: none."""


class VsphereNetworkDict(TypedDict):
    """A network adapter of each machine, and its addresses."""

    network: str
    """Port group or distributed port group, by name or inventory path. It may change while the
    machine runs."""
    adapter: NotRequired[VsphereNetworkAdapterWord]
    """One of `vmxnet3`, `e1000e`, `sriov`. Type of the adapter; another type is another adapter,
    with another MAC address. `sriov` is a virtual function of a NIC whose host has SR-IOV on,
    which `fabric: rdma` uses: it is added, changed and removed while the machine is off. Default:
    vmxnet3, or that of the template."""
    addresses: NotRequired[VsphereAddressesDict]
    """Static addresses, written into the first-boot data. Default: DHCP."""
