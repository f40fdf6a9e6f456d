"""Outputs of a machine for the state: all inputs except secret ones, vCenter's values, and
differences from the declaration, which a refresh shows and the next update fixes."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyVmomi import vim

from gpufleet_vcenter.adapters import adapter_type, found_network, on_network, unmatched
from gpufleet_vcenter.described import Tag, found_on, tags_of
from gpufleet_vcenter.disks import disk_bytes, disk_drift, first_disk, plugged_disks, store_of
from gpufleet_vcenter.errors import holding
from gpufleet_vcenter.lookup import last_name
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.properties import UNKNOWN, plain_differences
from gpufleet_vcenter.reading import one
from gpufleet_vcenter.settings import NodeSettings, Place, normalised, parsed
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


def seen_now(work: MachineWork, live: Observed, olds: Mapping[str, Any]) -> MachineContext:
    """Present facts about a machine; its outputs of before tell whether it was adopted, and its
    firmware."""
    session, host = work.session, live.host
    about = None if host is None else one(session, host, vim.HostSystem, ("name",))
    # Names of the machine's networks are read only if adapters are declared.
    is_named = any(network is not None for network, _ in work.settings.place.adapters)
    found = [found_network(session, network) for network in live.networks if is_named]
    names = {network.id: network.name for network in found}
    return MachineContext(
        "" if about is None else str(about["name"]),
        bool(olds.get("adopted", False)),
        str(olds.get("firmware") or live.firmware),
        *found_on(session, work.settings, live),
        [
            {"network": names.get(on_network(card), ""), "adapter": adapter_type(card)}
            for card in live.adapters
        ],
    )


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


def _warnings(settings: NodeSettings, live: Observed, seen: MachineContext) -> list[str]:
    strange = Counter(gpu.backing for gpu in live.gpus) - Counter(settings.devices)
    devices = [device_row(*backing) for backing in sorted(strange)]
    # If the declaration names all adapters, others are undeclared.
    cards = _matched(settings.place, seen.adapters)[1] if settings.place.networks else ()
    rows = holding("machine", live=live, seen=seen, devices=devices, cards=cards)
    return [row["message"] for row in rows]


_SEEN: Mapping[str, Callable[[NodeSettings, Observed, MachineContext], Any]] = {
    "drifted": drifted,
    "instanceUuid": lambda _, live, __: live.instance_uuid,
    "biosUuid": lambda _, live, __: live.bios_uuid,
    "moRef": lambda _, live, __: live.moref,
    "host": lambda _, __, seen: seen.host,
    "powerState": lambda _, live, __: live.power,
    "hardwareVersionActual": lambda _, live, __: live.hardware_version,
    "guestIdActual": lambda _, live, __: live.guest_id,
    "firmware": lambda _, __, seen: seen.firmware,
    "macAddresses": lambda _, live, __: list(live.mac_addresses),
    "ipAddress": lambda _, live, __: live.address,
    "gpuDevices": lambda _, live, __: [
        {**device_row(*gpu.backing), "assigned": gpu.assigned} for gpu in live.gpus
    ],
    "datastore": lambda _, live, __: store_of(live),
    "disks": lambda _, live, __: [
        {"name": disk.name, "sizeGib": disk.size_gib, "file": disk.file}
        for disk in plugged_disks(live)
    ],
    "nodeName": lambda settings, _, __: settings.name,
    # The form the vSphere cloud provider gives its nodes.
    "providerId": lambda _, live, __: f"vsphere://{live.bios_uuid}",
    "adopted": lambda _, __, seen: seen.adopted,
    "warnings": _warnings,
}
OBSERVED = frozenset(_SEEN)
"""Outputs that are no inputs."""

CUSTOM_TIMEOUT = "customTimeout"
"""Seconds that the resource's `customTimeouts` allow for this call: bounds each step of it."""

SECRETS = ("userData", "vendorData")
"""Inputs that are secret: the state has their digests, `userDataSha256`."""


def declared(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs among inputs or outputs."""
    others = OBSERVED | {"__provider", CUSTOM_TIMEOUT, *(f"{name}Sha256" for name in SECRETS)}
    return {key: value for key, value in properties.items() if key not in others}


def read_settings(given: Mapping[str, Any]) -> NodeSettings:
    """The inputs of a machine, or the part of them in the state.

    Raises:
        VsphereError: they are not usable; the text names each problem and no secret.
    """
    settings = parsed(NodeSettings, normalised(declared(given)), "the inputs are not usable")
    if (seconds := given.get(CUSTOM_TIMEOUT)) is None:
        return settings
    limits = settings.timeouts.model_dump().items()
    update = {key: min(value, int(seconds)) for key, value in limits}
    timeouts = settings.timeouts.model_copy(update=update)
    return settings.model_copy(update={"timeouts": timeouts})


def digest(text: str) -> str:
    """Digest that the state keeps instead of user data."""
    return hashlib.sha256(text.encode()).hexdigest()


def inputs_kept(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as they may be stored: first-boot data only as its digest."""
    without = (*SECRETS, "__provider", CUSTOM_TIMEOUT)
    kept = {key: value for key, value in properties.items() if key not in without}
    for name in SECRETS:
        text = properties.get(name)
        if isinstance(text, str):
            kept[f"{name}Sha256"] = UNKNOWN if text == UNKNOWN else digest(text)
    return kept


def outputs(
    properties: Mapping[str, Any], settings: NodeSettings, live: Observed, seen: MachineContext
) -> dict[str, Any]:
    """All outputs, from the inputs, or the outputs of before, and the same read. `drifted` contains
    the differences from the declaration."""
    facts = {name: value(settings, live, seen) for name, value in _SEEN.items()}
    return {**inputs_kept(properties), **facts}
