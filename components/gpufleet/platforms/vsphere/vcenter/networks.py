"""Networks that adapters are on: standard and distributed port groups, and NSX's own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.reading import one, properties
from gpufleet.platforms.vsphere.vcenter.session import Session

_Card = vim.vm.device.VirtualEthernetCard
_Portgroup = vim.dvs.DistributedVirtualPortgroup


@dataclass(frozen=True, slots=True)
class FoundNetwork:
    """A network, as an adapter on it speaks of it."""

    reference: Any
    id: str
    """As `on_network` spells it."""
    backing: Any
    """What puts an adapter onto it."""


def found_network(session: Session, network: Any) -> FoundNetwork:
    """What an adapter needs to know of the network, asked once."""
    if isinstance(network, _Portgroup):
        paths = ("key", "config.distributedVirtualSwitch")
        known = one(session, network, _Portgroup, paths) or {}
        switch = known.get("config.distributedVirtualSwitch")
        about = one(session, switch, vim.DistributedVirtualSwitch, ("uuid",)) or {}
        key = str(known.get("key", ""))
        port = vim.dvs.PortConnection(portgroupKey=key, switchUuid=about.get("uuid"))
        return FoundNetwork(network, key, _Card.DistributedVirtualPortBackingInfo(port=port))
    if isinstance(network, vim.OpaqueNetwork):
        paths = ("summary.opaqueNetworkId", "summary.opaqueNetworkType")
        known = one(session, network, vim.OpaqueNetwork, paths) or {}
        key, kind = (str(known.get(path, "")) for path in paths)
        backing = _Card.OpaqueNetworkBackingInfo(opaqueNetworkId=key, opaqueNetworkType=kind)
        return FoundNetwork(network, key, backing)
    known = one(session, network, vim.Network, ("name",)) or {}
    # As vCenter says it, escapes included: so govmomi writes it, too (object/network.go, 0.56).
    backing = _Card.NetworkBackingInfo(network=network, deviceName=known.get("name", ""))
    return FoundNetwork(network, str(network._moId), backing)


def on_network(adapter: Any) -> str:
    """Id of the network that an adapter is on: the key of a distributed port group, NSX's id of an
    opaque network, vCenter's reference of another; empty: of none."""
    backing = adapter.backing
    port = getattr(backing, "port", None)
    if port is not None:
        return str(port.portgroupKey or "")
    opaque = getattr(backing, "opaqueNetworkId", None)
    if opaque is not None:
        return str(opaque)
    return str(getattr(getattr(backing, "network", None), "_moId", ""))


def network_names(session: Session, networks: Iterable[Any]) -> dict[str, str]:
    """Id of each network, as `on_network` spells it, and its name."""
    listed = list(networks)
    kinds = (
        (_Portgroup, "key"),
        (vim.OpaqueNetwork, "summary.opaqueNetworkId"),
    )
    names: dict[str, str] = {}
    for kind, path in kinds:
        of_kind = [network for network in listed if isinstance(network, kind)]
        for _, found in properties(session, of_kind, kind, ("name", path)):
            names[str(found.get(path, ""))] = unquote(str(found.get("name", "")))
    plain = [item for item in listed if not isinstance(item, tuple(kind for kind, _ in kinds))]
    for network, found in properties(session, plain, vim.Network, ("name",)):
        names[str(network._moId)] = unquote(str(found.get("name", "")))
    return names
