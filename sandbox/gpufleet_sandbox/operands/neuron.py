"""AWS Neuron's device plugin, as its chart installs it: devices and cores of one node.

Follows the chart neuron-helm-chart 1.1.2 (read 2026-11-22): its DaemonSet runs on the instance
types of `neuronInstances`, tolerates `devicePlugin.tolerations`, and publishes whole devices and
single cores of the same hardware.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.informer import Key
from gpufleet_sandbox.operands.node_selection import untolerated

CHART_NAME = "neuron-helm-chart"
COMPONENT = "simulated-neuron-device-plugin"
NAME_LABEL, COMPONENT_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/component"
TYPE_LABEL = "node.kubernetes.io/instance-type"
PREFIX = "aws.amazon.com/"
CORES = {"Inferentia": 4, "Inferentia2": 2, "Trainium": 2, "Trainium2": 8}
"""Chip -> cores, as EC2 describes its machines; the simulators' own table."""


@dataclass(frozen=True, slots=True)
class NeuronDevices:
    """Hardware of a machine."""

    chip: str
    count: int


@dataclass(frozen=True, slots=True)
class NeuronPlugin:
    """One installation of the chart."""

    instance_types: tuple[str, ...]
    tolerations: tuple[Mapping[str, Any], ...]

    def advertises(
        self,
        devices: NeuronDevices | None,
        labels: Mapping[str, str],
        taints: Iterable[Mapping[str, Any]],
    ) -> dict[str, int]:
        """Resources that a node publishes; empty where the plugin does not run."""
        wanted = labels.get(TYPE_LABEL) in self.instance_types
        if devices is None or not wanted or untolerated(self.tolerations, taints) is not None:
            return {}
        return {
            f"{PREFIX}neuron": devices.count,
            f"{PREFIX}neuroncore": devices.count * CORES[devices.chip],
        }


def read_neuron_plugin(config_maps: Mapping[Key, Mapping[str, Any]]) -> NeuronPlugin | None:
    """The chart's installation; None where it is not installed."""
    for _, item in sorted(config_maps.items()):
        labels = item["metadata"].get("labels") or {}
        if labels.get(NAME_LABEL) == CHART_NAME and labels.get(COMPONENT_LABEL) == COMPONENT:
            values: dict[str, Any] = json.loads((item.get("data") or {})["values.json"])
            return NeuronPlugin(
                tuple(values["neuronInstances"]), tuple(values["devicePlugin"]["tolerations"])
            )
    return None
