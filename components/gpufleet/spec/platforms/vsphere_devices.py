"""Disks and network adapters of a machine on vSphere."""

import ipaddress
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import SpecModel

LARGEST_DISK_GIB = 63_488
"""62 TiB, the largest virtual disk (VMware's configuration maximums, vSphere 7 and 8, read
2026-11-22)."""

MOST_DISKS = 14
"""Additional disks of a machine: a SCSI controller has 15, and the first disk is on it."""

MOST_NETWORKS = 10
"""Network adapters of a virtual machine (VMware's configuration maximums, read 2026-11-22)."""

DiskName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$")]
"""1 to 32 of a-z, 0-9 and inner hyphens."""


class DiskFormat(StrEnum):
    """Allocation of the space of a virtual disk."""

    THIN = "thin"
    """On first write; the default."""
    THICK = "thick"
    """At once, zeroed on first write."""
    EAGER_ZEROED = "eagerZeroed"
    """At once, and zeroed: creating it takes as long as writing all of it."""


class VsphereDisk(SpecModel):
    """A disk of each machine in addition to those of the template."""

    name: DiskName
    """Its identity: another name is another disk, and the old one is deleted with its data. 1 to 32
    of a-z, 0-9 and inner hyphens."""
    size_gib: int = Field(ge=1, le=LARGEST_DISK_GIB)
    """1 to 63488 (62 TiB). It can grow while the machine runs, and never shrink."""
    format: DiskFormat = DiskFormat.THIN
    """Allocation of its space, fixed at creation. Default thin."""
    datastore: str | None = Field(default=None, min_length=1, max_length=200)
    """Datastore of the disk, which every host of the machine must mount. Default: that of the
    machine's first disk."""
    keep: bool = False
    """Whether its file stays in the datastore when the disk or its machine is removed: detached,
    and gpufleet does not attach it again. Default false: it is deleted."""


def named_twice(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


IpAddress = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F.:]{2,39}$")]
"""IPv4 or IPv6 address."""
AddressRange = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-fA-F.:]{2,39}(-[0-9a-fA-F.:]{2,39})?$")
]
"""An address, or the first and the last of several: `10.0.0.10-10.0.0.40`."""
MOST_ADDRESSES = 65_536


class VsphereAddresses(SpecModel):
    """Static addresses of one adapter of a pool's machines."""

    ranges: Annotated[tuple[AddressRange, ...], Field(min_length=1, max_length=1000)]
    """Addresses, and ranges of them, in order: machine 0 has the first one, machine 7 the eighth.
    Addresses of named machines are in `machines`."""
    prefix: int = Field(ge=1, le=128)
    """Length of the network's prefix: 24 of `10.0.0.0/24`."""
    gateway: IpAddress | None = None
    """Default route. Default: none on this adapter."""
    nameservers: Annotated[tuple[IpAddress, ...], Field(max_length=8)] = ()
    """DNS servers, at most 8. Default: none."""
    search_domains: Annotated[tuple[str, ...], Field(max_length=16)] = ()
    """Domains for resolving short names, at most 16. Default: none."""

    @property
    def listed(self) -> tuple[str, ...]:
        """Every address, in order, with the prefix: `10.0.0.10/24`."""
        found: list[str] = []
        for text in self.ranges:
            first, _, last = text.partition("-")
            begin = ipaddress.ip_address(first)
            for number in range(int(begin), int(ipaddress.ip_address(last or first)) + 1):
                found.append(f"{type(begin)(number)}/{self.prefix}")
        return tuple(found)

    @model_validator(mode="after")
    def _is_one_network(self) -> Self:
        count = 0
        network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None
        for text in self.ranges:
            first, _, last = text.partition("-")
            begin, end = ipaddress.ip_address(first), ipaddress.ip_address(last or first)
            network = network or ipaddress.ip_network((first, self.prefix), strict=False)
            for address in (begin, end):
                if address not in network:
                    raise ValueError(f"{address} is not in {network}, the network of {first}")
            count += int(end) - int(begin) + 1
            if int(end) < int(begin):
                raise ValueError(f"{text} ends before it begins: write {last}-{first}")
        if count > MOST_ADDRESSES:
            raise ValueError(
                f"{count} addresses are more than {MOST_ADDRESSES}: shorten the ranges"
            )
        if self.gateway is not None and ipaddress.ip_address(self.gateway) not in (network or ()):
            raise ValueError(
                f"gateway {self.gateway} is not in {network}: its machines cannot reach it"
            )
        for server in self.nameservers:
            ipaddress.ip_address(server)
        twice = sorted(one for one, times in Counter(self.listed).items() if times > 1)
        if twice:
            raise ValueError(f"{', '.join(twice[:4])} is listed more than once")
        return self


class VsphereAdapter(SpecModel):
    """A network adapter of each machine."""

    network: str = Field(min_length=1, max_length=200)
    """Port group or distributed port group, by name or inventory path. It may change while the
    machine runs."""
    adapter: Literal["vmxnet3", "e1000e", "sriov"] | None = None
    """Type of the adapter; another type is another adapter, with another MAC address. `sriov` is a
    virtual function of a NIC whose host has SR-IOV on, which `fabric: rdma` uses: it is added,
    changed and removed while the machine is off. Default: vmxnet3, or that of the template."""


class VsphereNetwork(VsphereAdapter):
    """A network adapter of each machine, and its addresses."""

    addresses: VsphereAddresses | None = None
    """Static addresses, written into the first-boot data. Default: DHCP."""


class DrsBehavior(StrEnum):
    """DRS automation of one machine, independent of the others in the cluster."""

    FULLY_AUTOMATED = "fullyAutomated"
    """Place and move it."""
    PARTIALLY_AUTOMATED = "partiallyAutomated"
    """Place it, and recommend moves."""
    MANUAL = "manual"
    """Propose only."""
    DISABLED = "disabled"
    """Never move it."""
