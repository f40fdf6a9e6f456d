"""What the values of a chart may be, from its values file and what its templates read besides."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from custom_resources import origin
from pruning import OPEN, Schema
from sources import SOURCES, Source


@dataclass(frozen=True)
class Chart:
    """A chart whose values the product validates."""

    source: Source
    values: str
    """Name of the copy of its values.yaml in the folder of charts."""
    open: tuple[str, ...]
    """Top-level values of sub-charts and of templates, with keys of others."""
    more: Schema
    """Values that only comments of values.yaml, or templates, name."""
    handed_on: tuple[tuple[str, str, str, str], ...] = ()
    """(values, API version, kind, field): sections that templates hand on to a custom resource."""
    unread: tuple[str, ...] = ()
    """Fields of the custom resource that no template sets."""
    former: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys that older charts had: path -> the newest release whose own values file has it."""


_TEXT: Schema = {"type": "string"}
_BOOLEAN: Schema = {"type": "boolean"}
_HELM: Schema = {"nameOverride": _TEXT, "fullnameOverride": _TEXT, "global": OPEN}
CHARTS = {
    "gpu-operator": Chart(
        SOURCES["nvidia.com"],
        "gpu-operator-v26.7.0.values.yaml",
        ("node-feature-discovery",),
        {
            **_HELM,
            "operator": {"version": _TEXT},
            "dcgmExporter": {"config": {"create": _BOOLEAN, "data": {}}},
        },
        (
            ("", "nvidia.com/v1", "ClusterPolicy", "spec"),
            ("driver.nvidiaDriverCRD", "nvidia.com/v1alpha1", "NVIDIADriver", "spec"),
            (
                "driver.upgradePolicy.gpuPodDeletion",
                "nvidia.com/v1",
                "ClusterPolicy",
                "spec.driver.upgradePolicy.podDeletion",
            ),
            ("draDriver", "nvidia.com/v1alpha1", "GPUCluster", "spec.draDriver"),
        ),
        ("psp",),
        {
            "psp": "v23.6.1",
            **dict.fromkeys(
                (
                    "dcgm.securityContext",
                    "dcgmExporter.securityContext",
                    "devicePlugin.securityContext",
                    "driver.repoConfig.destinationDir",
                    "driver.securityContext",
                    "gfd.podSecurityContext",
                    "gfd.securityContext",
                    "migManager.securityContext",
                    "toolkit.securityContext",
                    "validator.securityContext",
                ),
                "v1.8.1",
            ),
        },
    ),
    "network-operator": Chart(
        SOURCES["mellanox.com"],
        "network-operator-26.4.1.values.yaml",
        (
            "node-feature-discovery",
            "sriov-network-operator",
            "maintenance-operator-chart",
            "test",
        ),
        {
            **_HELM,
            "imagePullSecrets": {"type": "array"},
            "operator": {
                "tag": _TEXT,
                "imagePullSecrets": {"type": "array"},
                "admissionController": {"certificate": OPEN},
            },
        },
        former={"nvPeerDriver": "1.1.0", "proxy": "1.1.0"},
    ),
}

NAMED: dict[str, Schema] = {
    "affinity": {"$ref": "#/$defs/core.v1.Affinity"},
    "resources": {"$ref": "#/$defs/core.v1.ResourceRequirements"},
    "tolerations": {"type": "array", "items": {"$ref": "#/$defs/core.v1.Toleration"}},
}
"""Values that charts hand on to a pod."""


def chart_file(chart: Chart, folder: Path) -> Schema:
    """What the values of a chart may be."""
    values = yaml.safe_load((folder / chart.values).read_text(encoding="utf-8"))
    schema = of_value("", {key: one for key, one in values.items() if key not in chart.open})
    added(schema, {**chart.more, **dict.fromkeys(chart.open, OPEN)})
    return {
        "source": {**origin(chart.source), "path": chart.values},
        "handedOn": [list(one) for one in chart.handed_on],
        "unread": list(chart.unread),
        "former": dict(chart.former),
        "values": schema,
    }


def of_value(name: str, value: Any) -> Schema:
    """The schema of a default value."""
    if name in NAMED:
        return NAMED[name]
    if isinstance(value, dict):
        fields = {key: of_value(key, one) for key, one in value.items()}
        names = fields and all(re.fullmatch("[A-Za-z_-]+", key) for key in fields)
        return {"type": "object", "properties": fields} if names else OPEN
    if isinstance(value, list):
        return {"type": "array"}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {} if value is None else {"type": kinds[type(value)]}


def added(schema: Schema, more: Schema) -> None:
    """Put values that only comments name into a schema."""
    for name, one in more.items():
        if one and "type" not in one and "$ref" not in one:
            section = schema["properties"].setdefault(name, {"type": "object", "properties": {}})
            added(section, one)
        else:
            schema["properties"][name] = one
