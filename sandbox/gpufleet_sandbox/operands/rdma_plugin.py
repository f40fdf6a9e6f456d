"""The RDMA shared device plugin: a number of pods may share the network cards of a node.

Configuration as in Mellanox/k8s-rdma-shared-dev-plugin (read 2026-11-21): `configList` of
resources, each with `rdmaHcaMax` shares and selectors; a card must match every given kind of
selector. The cards of simulated nodes are all equal; `_CARD` has their facts.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.gpu_operator import NIC_LABEL
from gpufleet_sandbox.operands.node_selection import untolerated

RDMA_ANNOTATION = "sandbox.gpufleet.dev/rdma-device-plugin"
"""On the Node: the resources it publishes, with blanks between them. Absent: none."""
PREFIX = "rdma"
_CARD: Mapping[str, str] = {
    "vendors": "15b3",
    "deviceIDs": "1021",
    "drivers": "mlx5_core",
    "linkTypes": "infiniband",
}
"""A ConnectX-7 with InfiniBand ports, by the selector that names each property."""


@dataclass(frozen=True, slots=True)
class SharedDevice:
    """One resource of the configuration."""

    name: str
    """With its prefix: `rdma/rail_a`."""
    shares: int
    selectors: Mapping[str, tuple[str, ...]]

    def selects(self, card: str) -> bool:
        """Whether it takes the card with that interface name."""
        known = {**_CARD, "ifNames": card}
        return all(
            known.get(kind) in allowed for kind, allowed in self.selectors.items() if allowed
        )


@dataclass(frozen=True, slots=True)
class RdmaPlugin:
    """The plugin as the policy deploys it."""

    devices: tuple[SharedDevice, ...]
    tolerations: tuple[Mapping[str, Any], ...]

    def advertises(
        self, nics: int, labels: Mapping[str, str], taints: Iterable[Mapping[str, Any]]
    ) -> dict[str, int]:
        """Resources of a node with this number of cards: resource -> pods that may have one."""
        wanted = labels.get(NIC_LABEL) == "true"
        if not wanted or untolerated(self.tolerations, taints) is not None:
            return {}
        cards = [f"ib{number}" for number in range(nics)]
        return {
            device.name: device.shares
            for device in self.devices
            if any(device.selects(card) for card in cards)
        }


def read_rdma_plugin(spec: Mapping[str, Any]) -> RdmaPlugin | None:
    """The plugin of a NicClusterPolicy's spec; None where it has none, or one that cannot start."""
    section = spec.get("rdmaSharedDevicePlugin")
    if not section:
        return None
    try:
        listed = json.loads(section["config"])["configList"]
        devices = tuple(
            SharedDevice(
                f"{entry.get('resourcePrefix', PREFIX)}/{entry['resourceName']}",
                int(entry["rdmaHcaMax"]),
                {kind: tuple(values) for kind, values in (entry.get("selectors") or {}).items()},
            )
            for entry in listed
        )
    except (KeyError, TypeError, ValueError):
        return None
    return RdmaPlugin(devices, tuple(spec.get("tolerations") or ()))
