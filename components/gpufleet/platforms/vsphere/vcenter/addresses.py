"""Static addresses of a machine, as its first boot reads them.

cloud-init has them in the key `network` of its meta data, in version 2 of its network configuration
(data source VMware, read 2026-11-23). CoreOS has them as arguments of its first boot, which
afterburn reads from `guestinfo.afterburn.initrd.network-kargs`, in the form that the machine API of
OpenShift writes (openshift/machine-api-operator, `constructKargsFromNetworkConfig`).
"""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from gpufleet.spec.base import SpecModel

KARGS_KEY = "guestinfo.afterburn.initrd.network-kargs"


class StaticAddress(SpecModel):
    """The address of one adapter."""

    adapter: int = Field(ge=0, le=9)
    """Number of the adapter, from 0, in the order of the machine's PCI bus."""
    address: str = Field(min_length=4, max_length=43)
    """`10.0.0.10/24`."""
    gateway: str | None = None
    nameservers: tuple[str, ...] = ()
    search_domains: tuple[str, ...] = ()


def network_config(addresses: Sequence[StaticAddress], macs: Sequence[str]) -> dict[str, Any]:
    """cloud-init's configuration of the network: adapters without a static address have DHCP.

    Args:
        addresses: Static addresses.
        macs: MAC address of each adapter that the machine has.
    """
    known = {item.adapter: item for item in addresses}
    return {
        "version": 2,
        "ethernets": {
            f"adapter{number}": {
                "match": {"macaddress": mac.lower()},
                **_ethernet(known.get(number)),
            }
            for number, mac in enumerate(macs)
        },
    }


def _ethernet(item: StaticAddress | None) -> Mapping[str, Any]:
    if item is None:
        return {"dhcp4": True}
    found: dict[str, Any] = {"dhcp4": False, "dhcp6": False, "addresses": [item.address]}
    if item.gateway is not None:
        every = "::/0" if ":" in item.gateway else "0.0.0.0/0"
        found["routes"] = [{"to": every, "via": item.gateway}]
    if item.nameservers or item.search_domains:
        found["nameservers"] = {
            "addresses": list(item.nameservers),
            "search": list(item.search_domains),
        }
    return found


def network_kargs(addresses: Sequence[StaticAddress]) -> str:
    """Arguments of the first boot of CoreOS."""
    words: list[str] = []
    for item in addresses:
        interface = ipaddress.ip_interface(item.address)
        own, gateway = str(interface.ip), item.gateway or ""
        mask = str(interface.netmask)
        if interface.version == 6:
            own, mask = f"[{own}]", str(interface.network.prefixlen)
            gateway = gateway and f"[{gateway}]"
        words.append(f"ip={own}::{gateway}:{mask}:::none")
    servers = dict.fromkeys(name for item in addresses for name in item.nameservers)
    return " ".join((*words, *(f"nameserver={server}" for server in servers)))
