"""What the state keeps of a machine: every input but the secret ones, and what vCenter says."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.nodes.vsphere.adapter import adapter_type
from gpufleet.nodes.vsphere.described import Description, wanted_of
from gpufleet.nodes.vsphere.observed import Observed
from gpufleet.nodes.vsphere.settings import NodeSettings
from gpufleet.nodes.vsphere.specs import MMIO_SIZE, mmio_of, wanted_gpus

OBSERVED = frozenset(
    (
        *("drifted", "instanceUuid", "biosUuid", "moRef", "host", "powerState", "firmware"),
        *("hardwareVersionActual", "guestIdActual", "macAddresses", "ipAddress", "gpuDevices"),
        *("nodeName", "providerId", "adopted", "warnings"),
    )
)
"""Outputs that are no inputs."""


def digest(text: str) -> str:
    """What the state keeps of user data instead of the data."""
    return hashlib.sha256(text.encode()).hexdigest()


def inputs_kept(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as they may be stored: user data only as its digest."""
    kept = {
        key: value for key, value in properties.items() if key not in ("userData", "__provider")
    }
    user_data = properties.get("userData")
    if isinstance(user_data, str):
        kept["userDataSha256"] = digest(user_data)
    return kept


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a machine beside what it says of itself."""

    host: str
    """Name of the host it is on."""
    adopted: bool
    """Whether an earlier run had begun it."""
    firmware: str
    """Firmware it was made with; empty: the one it has."""
    description: Description
    """Notes, attributes and tags it has."""


def observed_of(olds: Mapping[str, Any]) -> dict[str, Any]:
    """Of outputs those that are no inputs: what the last look found."""
    return {key: olds[key] for key in OBSERVED if key in olds}


def outputs(
    properties: Mapping[str, Any], settings: NodeSettings, live: Observed, seen: Seen
) -> dict[str, Any]:
    """All outputs; what differs from the declaration stands under `drifted`.

    Args:
        properties: The inputs, or the outputs of before.
        settings: The same, read.
        live: The machine.
        seen: What is known beside it.
    """
    firmware = seen.firmware or live.firmware
    kept = inputs_kept(properties)
    kept.update(
        {
            "drifted": drifted(settings, live, firmware, seen.description),
            "instanceUuid": live.instance_uuid,
            "biosUuid": live.bios_uuid,
            "moRef": live.moref,
            "host": seen.host,
            "powerState": live.power,
            "hardwareVersionActual": live.hardware_version,
            "guestIdActual": live.guest_id,
            "firmware": firmware,
            "macAddresses": list(live.mac_addresses),
            "ipAddress": live.address,
            "gpuDevices": [
                {**_device(gpu.mode, gpu.what, gpu.label), "assigned": gpu.assigned}
                for gpu in live.gpus
            ],
            "nodeName": settings.name,
            # The form the vSphere cloud provider gives its nodes.
            "providerId": f"vsphere://{live.bios_uuid}",
            "adopted": seen.adopted,
            "warnings": _warnings(settings, live),
        }
    )
    return kept


def drifted(
    settings: NodeSettings, live: Observed, firmware: str, described: Description
) -> dict[str, Any]:
    """Property -> what vCenter has where that is not what is declared. First-boot data is left
    out: guests clear it. So are GPUs that nobody declared: those are somebody's who added them."""
    found: dict[str, Any] = {}
    if live.firmware != firmware:
        found["firmware"] = live.firmware
    if settings.guest_id not in (None, live.guest_id):
        found["guestId"] = live.guest_id
    if settings.hardware_version not in (None, live.hardware_version):
        found["hardwareVersion"] = live.hardware_version
    if settings.cores_per_socket not in (None, live.cores_per_socket):
        found["coresPerSocket"] = live.cores_per_socket
    if settings.place.adapter not in (None, adapter_type(live.adapter)):
        found["place.adapter"] = adapter_type(live.adapter)
    if settings.annotation not in (None, live.annotation):
        found["annotation"] = live.annotation
    found.update(_description(settings, described))
    if live.cpus != settings.cpus:
        found["cpus"] = live.cpus
    if live.memory_mib != settings.memory_mib:
        found["memoryMib"] = live.memory_mib
    if not live.memory_locked:
        found["memoryLocked"] = False
    if settings.disk_gib is not None and live.disk_bytes != settings.disk_gib << 30:
        found["diskGib"] = live.disk_bytes >> 30
    if Counter(wanted_gpus(settings)) - Counter(gpu.backing for gpu in live.gpus):
        found["gpu"] = [_device(gpu.mode, gpu.what, gpu.label) for gpu in live.gpus]
    if live.extra_config.get(MMIO_SIZE) != str(mmio_of(settings)):
        found["mmioGib"] = live.extra_config.get(MMIO_SIZE, "")
    if live.latency != settings.latency_sensitivity:
        found["latencySensitivity"] = live.latency
    extra = {key: live.extra_config.get(key, "") for key in settings.extra_config}
    if extra != settings.extra_config:
        found["extraConfig"] = extra
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


def _device(mode: str, what: str, label: str) -> dict[str, str]:
    return {"mode": mode, "what": what, **({"label": label} if label else {})}


def _warnings(settings: NodeSettings, live: Observed) -> list[str]:
    found: list[str] = []
    strange = Counter(gpu.backing for gpu in live.gpus) - Counter(wanted_gpus(settings))
    for mode, what, _ in sorted(strange):
        found.append(f"the machine has a {mode} device {what} that nobody declared")
    if live.power == "suspended":
        found.append("the machine is suspended, which nobody declared")
    if live.connection not in ("", "connected"):
        found.append(f"vCenter says the machine is {live.connection}")
    if live.question:
        found.append(f"the machine waits for an answer: {live.question}")
    return found
