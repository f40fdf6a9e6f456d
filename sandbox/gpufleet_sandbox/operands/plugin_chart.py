"""NVIDIA's device plugin as its own chart installs it, without the GPU Operator.

Follows the chart nvidia-device-plugin 0.20.0 (read 2026-11-21). The start options of its pods are
read from the ConfigMap that the simulator chart writes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.cluster_policy import ClusterPolicy, read_cluster_policy
from gpufleet_sandbox.operands.informer import Key
from gpufleet_sandbox.operands.node_selection import matches, required_terms

CHART_NAME = "nvidia-device-plugin"
COMPONENT = "simulated-device-plugin"
NAME_LABEL, COMPONENT_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/component"


@dataclass(frozen=True, slots=True)
class PluginChart:
    """One installation of the chart."""

    settings: ClusterPolicy
    """Settings of the plugin as a ClusterPolicy; driver, toolkit and MIG belong to no operand."""
    config_maps: Mapping[str, Mapping[str, str]]
    """ConfigMaps of its namespace."""
    node_selector: Mapping[str, str]
    terms: tuple[Mapping[str, Any], ...]

    def runs_on(self, labels: Mapping[str, str]) -> bool:
        """Whether its DaemonSets select a node with these labels."""
        if any(labels.get(key) != value for key, value in self.node_selector.items()):
            return False
        return not self.terms or any(matches(term, labels) for term in self.terms)


def read_plugin_chart(config_maps: Mapping[Key, Mapping[str, Any]]) -> PluginChart | None:
    """The chart's installation; None where it is not installed."""
    for (namespace, _), item in sorted(config_maps.items()):
        labels = item["metadata"].get("labels") or {}
        if labels.get(NAME_LABEL) != CHART_NAME or labels.get(COMPONENT_LABEL) != COMPONENT:
            continue
        values: dict[str, Any] = json.loads((item.get("data") or {})["values.json"])
        alongside = {
            name: other.get("data") or {}
            for (ns, name), other in config_maps.items()
            if ns == namespace
        }
        return PluginChart(
            settings=_settings(values, alongside),
            config_maps=alongside,
            node_selector=dict(values.get("nodeSelector") or {}),
            terms=required_terms(values.get("affinity") or {}),
        )
    return None


def _settings(
    values: Mapping[str, Any], config_maps: Mapping[str, Mapping[str, str]]
) -> ClusterPolicy:
    config = values["config"]
    name = config.get("name") or ""
    return read_cluster_policy(
        {
            "spec": {
                "driver": {"enabled": False},
                "toolkit": {"enabled": False},
                "migManager": {"enabled": False},
                "mig": {"strategy": values.get("migStrategy") or ""},
                "gfd": {"enabled": values["gfd"]["enabled"]},
                "devicePlugin": {
                    "enabled": values["devicePlugin"]["enabled"],
                    "config": {
                        "name": name,
                        "default": config.get("default") or _fallback(config_maps.get(name, {})),
                    },
                    "mps": {"root": values["mps"]["root"]},
                },
            }
        }
    )


def _fallback(data: Mapping[str, str]) -> str:
    """Without config.default: the key `default`, else the only key there is."""
    if "default" in data:
        return "default"
    return next(iter(data)) if len(data) == 1 else ""
