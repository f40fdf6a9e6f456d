"""What the state keeps of a machine: every input but the secret ones, and what vCenter says."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpufleet.platforms.vsphere.vcenter.disks import disks_told, store_of
from gpufleet.platforms.vsphere.vcenter.drift import (
    MachineContext,
    device_row,
    drifted,
    strange_adapters,
    told_adapters,
)
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.specs import wanted_gpus

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
    """What the state keeps of user data instead of the data."""
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
            kept[digest_name(name)] = digest(text)
    return kept


def observed_of(olds: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs that are not inputs: the values that the last read of vCenter returned."""
    return {key: olds[key] for key in OBSERVED if key in olds}


def outputs(
    properties: Mapping[str, Any], settings: NodeSettings, live: Observed, seen: MachineContext
) -> dict[str, Any]:
    """All outputs. `drifted` contains the differences from the declaration.

    Args:
        properties: The inputs, or the outputs of before.
        settings: The same, read.
        live: The machine.
        seen: Facts about the machine that its own properties do not contain.
    """
    firmware = seen.firmware or live.firmware
    kept = inputs_kept(properties)
    kept.update(
        {
            "drifted": drifted(settings, live, firmware, seen),
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
                {**device_row(gpu.mode, gpu.what, gpu.label), "assigned": gpu.assigned}
                for gpu in live.gpus
            ],
            "datastore": store_of(live),
            "disks": disks_told(live),
            "nodeName": settings.name,
            # The form the vSphere cloud provider gives its nodes.
            "providerId": f"vsphere://{live.bios_uuid}",
            "adopted": seen.adopted,
            "warnings": _warnings(settings, live, seen),
        }
    )
    return kept


def _warnings(settings: NodeSettings, live: Observed, seen: MachineContext) -> list[str]:
    found: list[str] = []
    strange = Counter(gpu.backing for gpu in live.gpus) - Counter(wanted_gpus(settings))
    for mode, what, _ in sorted(strange):
        found.append(f"the machine has a {mode} device {what} that is not declared")
    found += [
        f"the machine has an adapter on {card['network']} that is not declared"
        for card in strange_adapters(settings.place, told_adapters(live, seen.networks))
    ]
    if seen.node_lost_since and seen.cannot_be_replaced:
        found.append(
            f"its node is not Ready since {seen.node_lost_since}, and a new machine is not "
            f"possible: {seen.cannot_be_replaced}"
        )
    if live.hot_add:
        found.append(
            "the machine has CPU or memory hot add, which may leave its guest one NUMA node"
        )
    if live.power == "suspended":
        found.append("the machine is suspended, which is not declared")
    if live.connection not in ("", "connected"):
        found.append(f"vCenter says the machine is {live.connection}")
    if live.question:
        found.append(f"the machine waits for an answer: {live.question}")
    return found
