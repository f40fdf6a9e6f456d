"""Where a machine is not what is declared: what a refresh shows and the next update fixes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufleet.platforms.vsphere.vcenter.adapters import adapter_type
from gpufleet.platforms.vsphere.vcenter.described import Description, wanted_of
from gpufleet.platforms.vsphere.vcenter.disks import disk_bytes, disk_drift, first_disk
from gpufleet.platforms.vsphere.vcenter.lookup import last_name
from gpufleet.platforms.vsphere.vcenter.networks import on_network
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings, Place
from gpufleet.platforms.vsphere.vcenter.specs import MMIO_SIZE, PLAIN, mmio_of, wanted_gpus


@dataclass(frozen=True, slots=True)
class MachineContext:
    """Facts about a machine that its own properties do not contain."""

    host: str
    """Name of the host it is on."""
    adopted: bool
    """Whether an earlier run had begun it."""
    firmware: str
    """Firmware it was made with; empty: the one it has."""
    description: Description
    """Notes, attributes and tags it has."""
    networks: Mapping[str, str] = field(default_factory=dict[str, str])
    """Id of a network -> name, of those that its adapters are on; empty where none is declared."""
    node_lost_since: str = ""
    """Since when its node is not Ready, where the machine is to be made anew for that."""
    cannot_be_replaced: str = ""
    """Why it cannot be made anew although its node is lost; empty: it can."""


def drifted(
    settings: NodeSettings, live: Observed, firmware: str, seen: MachineContext
) -> dict[str, Any]:
    """Property -> vCenter's value, for each property that differs from the declaration.

    First-boot data is left out, because guests clear it. GPUs that are not declared are left out
    too, because they belong to the person who added them.
    """
    found: dict[str, Any] = {}
    if live.firmware != firmware:
        found["firmware"] = live.firmware
    for plain in PLAIN:
        has = plain.difference(settings, live)
        if has is not None:
            found[plain.path] = has
    found.update(_description(settings, seen.description))
    found.update(adapter_drift(settings.place, told_adapters(live, seen.networks)))
    if not live.memory_locked:
        found["memoryLocked"] = False
    has = disk_bytes(first_disk(live))
    if settings.disk_gib is not None and has != settings.disk_gib << 30:
        found["diskGib"] = has >> 30
    disks = disk_drift(settings.extra_disks, live)
    if disks is not None:
        found["extraDisks"] = disks
    if Counter(wanted_gpus(settings)) - Counter(gpu.backing for gpu in live.gpus):
        found["gpu"] = [device_row(gpu.mode, gpu.what, gpu.label) for gpu in live.gpus]
    if live.extra_config.get(MMIO_SIZE) != str(mmio_of(settings)):
        found["mmioGib"] = live.extra_config.get(MMIO_SIZE, "")
    extra = {key: live.extra_config.get(key, "") for key in settings.extra_config}
    if extra != settings.extra_config:
        found["extraConfig"] = extra
    if seen.node_lost_since and not seen.cannot_be_replaced:
        found["nodeReady"] = f"not since {seen.node_lost_since}"
    if live.power != "poweredOn":
        found["powerState"] = live.power
    return found


def _description(settings: NodeSettings, described: Description) -> dict[str, Any]:
    wanted = wanted_of(settings)
    found: dict[str, Any] = {}
    if dict(described.attributes) != dict(wanted.attributes):
        found["customAttributes"] = dict(described.attributes)
    if wanted.tags - described.tags:
        found["tags"] = [{"category": c, "name": n} for c, n in sorted(described.tags)]
    return found


def told_adapters(live: Observed, networks: Mapping[str, str]) -> list[dict[str, str]]:
    """Network and type of each adapter, by names.

    Args:
        live: The machine.
        networks: Id of a network -> name.
    """
    return [
        {"network": networks.get(on_network(card), ""), "adapter": adapter_type(card)}
        for card in live.adapters
    ]


def adapter_drift(place: Place, told: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Which of the declared adapters the machine has not got, and what it has instead."""
    lacking, _ = _matched(place, told)
    if not lacking:
        return {}
    if place.networks:
        return {"place.networks": [dict(card) for card in told]}
    first = next(iter(told), {"network": "", "adapter": ""})
    declared = (("network", place.network and last_name(place.network)), ("adapter", place.adapter))
    return {
        f"place.{name}": first[name] for name, wish in declared if wish not in (None, first[name])
    }


def strange_adapters(place: Place, told: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Adapters that are not declared; empty where the declaration does not name all adapters."""
    return _matched(place, told)[1] if place.networks else []


def _matched(
    place: Place, told: Sequence[Mapping[str, str]]
) -> tuple[list[tuple[str | None, str | None]], list[Mapping[str, str]]]:
    """Declared adapters that the machine lacks, and its adapters that are not declared."""
    free = list(told)
    lacking: list[tuple[str | None, str | None]] = []
    for network, kind in sorted(place.adapters, key=lambda wish: wish[0] is None):
        name = None if network is None else last_name(network)
        card = next(
            (c for c in free if name in (None, c["network"]) and kind in (None, c["adapter"])), None
        )
        if card is None:
            lacking.append((network, kind))
        else:
            free.remove(card)
    return lacking, free


def device_row(mode: str, what: str, label: str) -> dict[str, str]:
    """A GPU as the state spells it."""
    return {"mode": mode, "what": what, **({"label": label} if label else {})}
