"""First-boot data of a machine's guest, and its encoding in guestinfo.

Static addresses: cloud-init has them in the key `network` of its meta data, in version 2 of its
network configuration (data source VMware, read 2026-11-23). CoreOS has them as arguments of its
first boot, which afterburn reads from `guestinfo.afterburn.initrd.network-kargs`, in the form that
the machine API of OpenShift writes (openshift/machine-api-operator,
`constructKargsFromNetworkConfig`).
"""

import base64
import gzip
import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from gpufleet.spec.base import SpecModel

if TYPE_CHECKING:
    from gpufleet_vcenter.settings import NodeSettings

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
    """cloud-init's configuration of the network: adapters, by their MAC addresses, without a static
    address have DHCP."""
    known = {item.adapter: item for item in addresses}
    return {
        "version": 2,
        "ethernets": {
            f"adapter{number}": {
                "match": {"macaddress": mac.lower()},
                **(_static(known[number]) if number in known else {"dhcp4": True}),
            }
            for number, mac in enumerate(macs)
        },
    }


def _static(item: StaticAddress) -> Mapping[str, Any]:
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


GUEST_DATA_LIMIT = 65_536
"""Bytes one guestinfo value may have, packed (open-vm-tools' limit as named in vm-operator issue
148, read 2026-11-21)."""

ENCODING = "gzip+base64"

USER_DATA_KEYS = tuple(
    f"guestinfo.{name}{of}"
    for name in ("userdata", "vendordata", "ignition.config.data")
    for of in ("", ".encoding")
)
"""Keys that may contain secrets: cleared after the node is ready, and never compared."""


JOINED_KEY = "guestinfo.gpufleet.join"
"""Key that the join script sets to `done` as its last step."""


def packed(text: str) -> str:
    """The text as a guestinfo value. The same text always gives the same value."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


META_DATA_KEYS = frozenset(("instance-id", "local-hostname", "redact"))
"""Keys of the meta data that follow from the machine; the user may not set them."""


def guest_keys(instance_id: str, of: "NodeSettings", macs: Sequence[str] = ()) -> Mapping[str, str]:
    """Keys of the extra configuration that the guest's first boot reads, with the MAC address of
    each adapter that the machine has.

    The meta data of cloud-init are identity, name, what the user declares, and that user data is
    cleared after it is read (cloud-init's VMware data source, `redact`, `network` and
    `wait-on-network`, read 2026-11-21).
    """
    keys: dict[str, str] = {}
    texts, addresses, more = {"ignition.config.data": of.user_data}, of.addresses, of.meta_data
    if of.user_data_format == "ignition":
        keys |= {KARGS_KEY: network_kargs(addresses)} if addresses else {}
    else:
        if addresses:
            family = "ipv6" if all(":" in item.address for item in addresses) else "ipv4"
            waits = {"wait-on-network": {family: True}}
            more = {**waits, **more, "network": network_config(addresses, macs)}
        own = {"instance-id": instance_id, "local-hostname": of.name}
        own |= {"redact": ["userdata", "vendordata"]}
        meta = json.dumps({"wait-on-network": {"ipv4": True}, **more, **own}, sort_keys=True)
        texts = {"metadata": meta, "userdata": of.user_data, "vendordata": of.vendor_data}
    for name, text in texts.items():
        if text is not None:
            keys |= {f"guestinfo.{name}": packed(text), f"guestinfo.{name}.encoding": ENCODING}
    return keys
