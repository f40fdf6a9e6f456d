"""What the state keeps of a machine: every input but the secret ones, and what vCenter says."""

import hashlib
from collections.abc import Mapping
from typing import Any

from gpufleet.nodes.vsphere.observed import Observed
from gpufleet.nodes.vsphere.settings import NodeSettings
from gpufleet.nodes.vsphere.specs import MMIO_SIZE, mmio_of, wanted_gpus


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


def outputs(
    properties: Mapping[str, Any],
    settings: NodeSettings,
    live: Observed,
    host: str,
    *,
    adopted: bool,
) -> dict[str, Any]:
    """All outputs; what differs from the declaration stands under `drifted`.

    Args:
        properties: The inputs, or the outputs of before.
        settings: The same, read.
        live: The machine.
        host: Name of the host it is on.
        adopted: Whether an earlier run had begun it.
    """
    kept = inputs_kept(properties)
    kept.update(
        {
            "drifted": drifted(settings, live),
            "instanceUuid": live.instance_uuid,
            "biosUuid": live.bios_uuid,
            "moRef": live.moref,
            "host": host,
            "powerState": live.power,
            "hardwareVersion": live.hardware_version,
            "firmware": live.firmware,
            "macAddresses": list(live.mac_addresses),
            "ipAddress": live.address,
            "gpuDevices": [
                {**_device(gpu.mode, gpu.what, gpu.label), "assigned": gpu.assigned}
                for gpu in live.gpus
            ],
            "nodeName": settings.name,
            # The form the vSphere cloud provider gives its nodes.
            "providerId": f"vsphere://{live.bios_uuid}",
            "adopted": adopted,
            "warnings": _warnings(live),
        }
    )
    return kept


def drifted(settings: NodeSettings, live: Observed) -> dict[str, Any]:
    """Property -> what vCenter has where that is not what is declared. First-boot data is left
    out: guests clear it."""
    found: dict[str, Any] = {}
    if live.cpus != settings.cpus:
        found["cpus"] = live.cpus
    if live.memory_mib != settings.memory_mib:
        found["memoryMib"] = live.memory_mib
    if not live.memory_locked:
        found["memoryLocked"] = False
    if settings.disk_gib is not None and live.disk_bytes != settings.disk_gib << 30:
        found["diskGib"] = live.disk_bytes >> 30
    if sorted(gpu.backing for gpu in live.gpus) != sorted(wanted_gpus(settings)):
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


def _device(mode: str, what: str, label: str) -> dict[str, str]:
    return {"mode": mode, "what": what, **({"label": label} if label else {})}


def _warnings(live: Observed) -> list[str]:
    found: list[str] = []
    if live.power == "suspended":
        found.append("the machine is suspended, which nobody declared")
    if live.connection not in ("", "connected"):
        found.append(f"vCenter says the machine is {live.connection}")
    if live.question:
        found.append(f"the machine waits for an answer: {live.question}")
    return found
