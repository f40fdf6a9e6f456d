# pyright: standard
"""Network adapters of a machine: their networks change while it runs, their types do not. Networks
are standard and distributed port groups, and NSX's own.

An adapter with SR-IOV is a device of the host: it is not added, edited or removed while the machine
runs, and needs all memory reserved, as GPUs do (VMware, vSphere 6.7 Networking, SR-IOV Support and
Configure a Virtual Machine to Use SR-IOV, read 2026-11-23). Which virtual function of the port
group's uplinks it gets, the host decides at power-on (`sriovBacking` is left out).
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from pyVmomi import vim

from gpufleet_vcenter.observed import MachineDifference, Observed
from gpufleet_vcenter.reading import one
from gpufleet_vcenter.session import Session

W = TypeVar("W")
C = TypeVar("C")
_Card = vim.vm.device.VirtualEthernetCard
_Portgroup = vim.dvs.DistributedVirtualPortgroup


@dataclass(frozen=True, slots=True)
class FoundNetwork:
    """A network, with the values that an adapter on it needs."""

    reference: Any
    id: str
    """Id of its network, as `on_network` returns it."""
    name: str
    backing: Any
    """Backing of an adapter on it."""


def found_network(session: Session, network: Any) -> FoundNetwork:
    """Properties of the network that an adapter needs, read once."""
    if network not in session.places:
        session.places[network] = _found(session, network)
    return session.places[network]


def _found(session: Session, network: Any) -> FoundNetwork:
    if isinstance(network, _Portgroup):
        paths = ("name", "key", "config.distributedVirtualSwitch")
        known = one(session, network, _Portgroup, paths) or {}
        switch = known.get("config.distributedVirtualSwitch")
        about = one(session, switch, vim.DistributedVirtualSwitch, ("uuid",)) or {}
        key = str(known.get("key", ""))
        port = vim.dvs.PortConnection(portgroupKey=key, switchUuid=about.get("uuid"))
        backing = _Card.DistributedVirtualPortBackingInfo(port=port)
    elif isinstance(network, vim.OpaqueNetwork):
        paths = ("summary.opaqueNetworkId", "summary.opaqueNetworkType")
        known = one(session, network, vim.OpaqueNetwork, ("name", *paths)) or {}
        key, kind = (str(known.get(path, "")) for path in paths)
        backing = _Card.OpaqueNetworkBackingInfo(opaqueNetworkId=key, opaqueNetworkType=kind)
    else:
        known = one(session, network, vim.Network, ("name",)) or {}
        key, name = str(network._moId), known.get("name", "")
        # vCenter's spelling with escapes, as govmomi writes it (object/network.go, 0.56).
        backing = _Card.NetworkBackingInfo(network=network, deviceName=name)
    return FoundNetwork(network, key, unquote(str(known.get("name", ""))), backing)


def on_network(adapter: Any) -> str:
    """Id of the network that an adapter is on: the key of a distributed port group, NSX's id of an
    opaque network, vCenter's reference of another; empty: no network."""
    backing = adapter.backing
    port = getattr(backing, "port", None)
    if port is not None:
        return str(port.portgroupKey or "")
    opaque = getattr(backing, "opaqueNetworkId", None)
    if opaque is not None:
        return str(opaque)
    return str(getattr(getattr(backing, "network", None), "_moId", ""))


SRIOV = "sriov"
_TYPES = {
    "vmxnet3": vim.vm.device.VirtualVmxnet3,
    "e1000e": vim.vm.device.VirtualE1000e,
    SRIOV: vim.vm.device.VirtualSriovEthernetCard,
}
ADAPTERS = tuple(_TYPES)
"""Types of adapter that can be declared."""


@dataclass(frozen=True, slots=True)
class WantedAdapter:
    """A declared adapter of a machine."""

    network: FoundNetwork | None
    """None: its present network."""
    type: str | None
    """None: any type."""


def adapter_type(adapter: Any | None) -> str:
    """`vmxnet3`, `e1000e`, `sriov`, or vCenter's name of another type; empty: no adapter."""
    if adapter is None:
        return ""
    known = (name for name, kind in _TYPES.items() if type(adapter) is kind)
    return next(known, type(adapter).__name__.rsplit(".", 1)[-1])


def adapter_changes(
    found: MachineDifference,
    wanted: Sequence[WantedAdapter],
    live: Observed,
    former: Sequence[str | None] | None,
    *,
    all_told: bool,
) -> None:
    """Changes that give the machine these adapters. The machine must be off to remove an adapter or
    to change one with SR-IOV. A type cannot change: another type is another adapter.

    A correct adapter stays, in any position. An incorrect adapter of ours moves to the network that
    lacks one and keeps its MAC address; only then are adapters added and removed. Adapters that
    others added stay.

    Args:
        found: Differences of the machine, extended by this call.
        wanted: The declared adapters.
        former: Ids of the networks of the adapters that were declared before, None for one that is
            not known; None instead of them: the guest has not started, and every adapter is the
            template's.
        all_told: Whether the declaration names all adapters: then the template's others go before
            the first boot.
    """

    def fits(card: Any, wish: WantedAdapter) -> bool:
        of_type = wish.type in (None, adapter_type(card))
        return of_type and (wish.network is None or on_network(card) == wish.network.id)

    lacking, free = unmatched(sorted(wanted, key=lambda w: w.network is None), live.adapters, fits)
    matched = len(live.adapters) - len(free)
    ours = len(free) if former is None else max(0, max(1, len(former)) - matched)
    edited: list[Any] = []
    removed: list[Any] = []
    added: list[Any] = []
    types = {adapter_type(card) for card in free[:ours]}
    for wish in sorted(lacking, key=lambda item: item.type not in types):
        # One of its type, if there is one.
        alike = (card for card in free[:ours] if wish.type in (None, adapter_type(card)))
        card = next(alike, next(iter(free[:ours]), None))
        if card is not None:
            free.remove(card)
            ours -= 1
        if card is not None and wish.type in (None, adapter_type(card)):
            moved = copy.copy(card)  # the observed one stays as it is
            moved.backing = card.backing if wish.network is None else wish.network.backing
            edited.append(moved)
        elif card is not None or wish.network is not None:
            old = None if card is None else card.backing
            backing = old if wish.network is None else wish.network.backing
            removed += [] if card is None else [card]
            starts = {"startConnected": True, "allowGuestControl": True, "connected": live.is_on}
            connects = vim.vm.device.VirtualDevice.ConnectInfo(**starts)
            added.append(_TYPES[wish.type or ADAPTERS[0]](backing=backing, connectable=connects))
    if former is None:
        removed += free if all_told else []
    else:
        removed += [card for card in free if on_network(card) in former][:ours]
    for operation, cards in (("remove", removed), ("edit", edited), ("add", added)):
        for card in cards:
            found.device(operation, card)
    off = bool(removed) or any(adapter_type(card) == SRIOV for card in (*edited, *added))
    found.off += ["place.networks" if all_told else "place.adapter"] if off else []


def unmatched(
    wanted: Iterable[W], cards: Iterable[C], fits: Callable[[C, W], bool]
) -> tuple[list[W], list[C]]:
    """Declared adapters without a match, and adapters without a declaration. Each takes the first
    match: those with a network come first, and the others take the remaining adapters."""
    free, lacking = list(cards), list[W]()
    for wish in wanted:
        card = next((card for card in free if fits(card, wish)), None)
        if card is None:
            lacking.append(wish)
        else:
            free.remove(card)
    return lacking, free
