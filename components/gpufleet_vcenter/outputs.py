"""Outputs of a machine for the state: all inputs except secret ones, vCenter's values, and
differences from the declaration, which a refresh shows and the next update fixes."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufleet_vcenter.adapters import unmatched
from gpufleet_vcenter.described import Tag, tags_of
from gpufleet_vcenter.disks import disk_bytes, disk_drift, first_disk, plugged_disks, store_of
from gpufleet_vcenter.errors import said
from gpufleet_vcenter.lookup import last_name
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.properties import UNKNOWN, plain_differences
from gpufleet_vcenter.settings import NodeSettings, Place
from gpufleet_vcenter.specs import MMIO_SIZE, mmio_of


@dataclass(frozen=True, slots=True)
class MachineContext:
    """Facts about a machine that its own properties do not contain."""

    host: str
    """Name of the host it is on."""
    adopted: bool
    """Whether an earlier run had begun it."""
    firmware: str
    """Firmware it was made with."""
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Declared custom attributes that it has."""
    tags: frozenset[Tag] = frozenset()
    """Declared tags that it has."""
    adapters: Sequence[Mapping[str, str]] = ()
    """Network and type of each adapter, by names; without networks if none is declared."""
    node_lost_since: str = ""
    """Time since which its node is not Ready, if the machine is to be replaced for that."""
    cannot_be_replaced: str = ""
    """Reason why it cannot be replaced although its node is lost; empty: it can."""


def drifted(settings: NodeSettings, live: Observed, seen: MachineContext) -> dict[str, Any]:
    """Property -> vCenter's value, for each property that differs from the declaration.

    First-boot data is left out, because guests clear it. GPUs that are not declared are left out
    too, because they belong to the person who added them.
    """
    gpus = Counter(settings.devices) - Counter(gpu.backing for gpu in live.gpus)
    size, lacking_tags = disk_bytes(first_disk(live)), tags_of(settings) - seen.tags
    disks = disk_drift(settings.extra_disks, live)
    extra = {key: live.extra_config.get(key, "") for key in settings.extra_config}
    mmio = live.extra_config.get(MMIO_SIZE, "")
    lost = bool(seen.node_lost_since and not seen.cannot_be_replaced)
    values: dict[str, tuple[bool, Any]] = {
        "firmware": (live.firmware != seen.firmware, live.firmware),
        "customAttributes": (seen.attributes != settings.custom_attributes, {**seen.attributes}),
        "tags": (bool(lacking_tags), [{"category": c, "name": n} for c, n in sorted(seen.tags)]),
        "memoryLocked": (not live.memory_locked, False),
        "diskGib": (settings.disk_gib not in (None, size / (1 << 30)), size >> 30),
        "extraDisks": (disks is not None, disks),
        "gpu": (bool(gpus), [device_row(*gpu.backing) for gpu in live.gpus]),
        "mmioGib": (mmio != str(mmio_of(settings)), mmio),
        "extraConfig": (extra != settings.extra_config, extra),
        "nodeReady": (lost, f"not since {seen.node_lost_since}"),
        "powerState": (not live.is_on, live.power),
    }
    found = {path: has for path, (differs, has) in values.items() if differs}
    return {
        **found,
        **plain_differences(settings, live),
        **adapter_drift(settings.place, seen.adapters),
    }


def adapter_drift(place: Place, told: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Declared adapters that the machine lacks, and its other adapters, as text."""
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


def _matched(
    place: Place, told: Sequence[Mapping[str, str]]
) -> tuple[list[tuple[str | None, str | None]], list[Mapping[str, str]]]:
    """Declared adapters that the machine lacks, and its adapters that are not declared."""

    def fits(card: Mapping[str, str], wish: tuple[str | None, str | None]) -> bool:
        name = wish[0] and last_name(wish[0])
        return name in (None, card["network"]) and wish[1] in (None, card["adapter"])

    return unmatched(sorted(place.adapters, key=lambda wish: wish[0] is None), told, fits)


def device_row(mode: str, what: str, label: str) -> dict[str, str]:
    """A GPU as the state spells it."""
    return {"mode": mode, "what": what, **({"label": label} if label else {})}


OBSERVED = frozenset(
    (
        *("drifted", "instanceUuid", "biosUuid", "moRef", "host", "powerState", "firmware"),
        *("hardwareVersionActual", "guestIdActual", "macAddresses", "ipAddress", "gpuDevices"),
        *("datastore", "disks"),
        *("nodeName", "providerId", "adopted", "warnings"),
    )
)
"""Outputs that are no inputs."""

CUSTOM_TIMEOUT = "customTimeout"
"""Seconds that the resource's `customTimeouts` allow for this call: bounds each step of it."""

SECRETS = ("userData", "vendorData")
"""Inputs that are secret: the state has their digests."""


def digest(text: str) -> str:
    """Digest that the state keeps instead of user data."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_name(name: str) -> str:
    """Output that holds the digest of a secret input."""
    return f"{name}Sha256"


def inputs_kept(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as they may be stored: first-boot data only as its digest."""
    without = (*SECRETS, "__provider", CUSTOM_TIMEOUT)
    kept = {key: value for key, value in properties.items() if key not in without}
    for name in SECRETS:
        text = properties.get(name)
        if isinstance(text, str):
            kept[digest_name(name)] = UNKNOWN if text == UNKNOWN else digest(text)
    return kept


def _warnings(settings: NodeSettings, live: Observed, seen: MachineContext) -> list[str]:
    strange = Counter(gpu.backing for gpu in live.gpus) - Counter(settings.devices)
    # If the declaration names all adapters, others are undeclared.
    _, cards = _matched(settings.place, seen.adapters)
    cards = cards if settings.place.networks else []
    lost = bool(seen.node_lost_since and seen.cannot_be_replaced)
    states = {
        "node-lost": lost,
        "hot-add": live.hot_add,
        "is-suspended": live.power == "suspended",
        "connection": live.connection not in ("", "connected"),
        "question": bool(live.question),
    }
    return [
        *(said("host-state/device", mode=mode, what=what) for mode, what, _ in sorted(strange)),
        *(said("host-state/adapter", network=card["network"]) for card in cards),
        *(
            said(f"host-state/{row}", live=live, seen=seen)
            for row, holds in states.items()
            if holds
        ),
    ]


def outputs(
    properties: Mapping[str, Any], settings: NodeSettings, live: Observed, seen: MachineContext
) -> dict[str, Any]:
    """All outputs. `drifted` contains the differences from the declaration.

    Args:
        properties: The inputs, or the outputs of before.
        settings: The same, read.
        seen: Facts about the machine that its own properties do not contain.
    """
    return {
        **inputs_kept(properties),
        "drifted": drifted(settings, live, seen),
        "instanceUuid": live.instance_uuid,
        "biosUuid": live.bios_uuid,
        "moRef": live.moref,
        "host": seen.host,
        "powerState": live.power,
        "hardwareVersionActual": live.hardware_version,
        "guestIdActual": live.guest_id,
        "firmware": seen.firmware,
        "macAddresses": list(live.mac_addresses),
        "ipAddress": live.address,
        "gpuDevices": [{**device_row(*gpu.backing), "assigned": gpu.assigned} for gpu in live.gpus],
        "datastore": store_of(live),
        "disks": [
            {"name": disk.name, "sizeGib": disk.size_gib, "file": disk.file}
            for disk in plugged_disks(live)
        ],
        "nodeName": settings.name,
        # The form the vSphere cloud provider gives its nodes.
        "providerId": f"vsphere://{live.bios_uuid}",
        "adopted": seen.adopted,
        "warnings": _warnings(settings, live, seen),
    }
