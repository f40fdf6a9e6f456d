"""Schema of a chart's values, from its values file and the other values that its templates read."""

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
    typed: bool = False
    """Whether templates request the type of a value, or take text for true."""
    former: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys that older charts had: path -> the newest release whose own values file has it."""
    module: str = ""
    """Folder below Go's module cache that has `values`, instead of the folder of charts."""
    conditions: bool = False
    """Whether templates test if a boolean is set, which is true for any text, and write numbers."""
    written: tuple[str, ...] = ()
    """Booleans that templates only write, so that one in quotes has the same effect."""
    asked: tuple[str, ...] = ()
    """Booleans that templates hand to functions that take no text (`ternary`, `eq`)."""


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
        former={
            "psp": "v23.9.2",
            "driver.repoConfig.destinationDir": "v1.8.1",
            **dict.fromkeys(
                (
                    "dcgm.securityContext",
                    "dcgmExporter.securityContext",
                    "devicePlugin.securityContext",
                    "driver.securityContext",
                    "driver.use_ocp_driver_toolkit",
                    "gfd.podSecurityContext",
                    "gfd.securityContext",
                    "migManager.securityContext",
                    "toolkit.securityContext",
                    "validator.securityContext",
                ),
                "v1.9.1",
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
        # The dependency of Chart.yaml is called so in v24.10.0 to v25.7.0.
        former={
            "nic-configuration-operator-chart": "25.7.0",
            "nvPeerDriver": "1.2.0",
            "proxy": "1.1.0",
        },
    ),
    "nvidia-device-plugin": Chart(
        Source(
            "NVIDIA/k8s-device-plugin",
            "v0.20.0",
            "deployments/helm/nvidia-device-plugin",
            (),
            commit="1b826acc6af3079d8923bac395c3124b8861a9a6",
        ),
        "nvidia-device-plugin-0.20.0.values.yaml",
        ("nfd",),
        {
            "global": OPEN,
            **dict.fromkeys(
                (
                    "compatWithCPUManager",
                    "failOnInitError",
                    "gdrcopyEnabled",
                    "gdsEnabled",
                    "mofedEnabled",
                    "noTimestamp",
                ),
                _BOOLEAN,
            ),
            **dict.fromkeys(
                (
                    "migStrategy",
                    "deviceListStrategy",
                    "deviceIDStrategy",
                    "deviceDiscoveryStrategy",
                    "nvidiaDriverRoot",
                    "nvidiaDevRoot",
                ),
                _TEXT,
            ),
            "sleepInterval": _TEXT,
        },
        typed=True,
    ),
    "dra-driver-nvidia-gpu": Chart(
        Source(
            "kubernetes-sigs/dra-driver-nvidia-gpu",
            "v0.5.0",
            "deployments/helm/dra-driver-nvidia-gpu",
            (),
            date="2026-11-28",
        ),
        "values.yaml",
        (),
        # The chart fails with the last two, which have a separate finding.
        {"global": OPEN, "nvidiaCtkPath": {}, "namespace": {}},
        typed=True,
        module="sigs.k8s.io/dra-driver-nvidia-gpu@v0.5.0/deployments/helm/dra-driver-nvidia-gpu",
    ),
}

NAMED: dict[str, Schema] = {
    "affinity": {"$ref": "#/$defs/core.v1.Affinity"},
    "resources": {"$ref": "#/$defs/core.v1.ResourceRequirements"},
    "tolerations": {"type": "array", "items": {"$ref": "#/$defs/core.v1.Toleration"}},
    "podSecurityContext": {"$ref": "#/$defs/core.v1.PodSecurityContext"},
    "securityContext": {"$ref": "#/$defs/core.v1.SecurityContext"},
    "updateStrategy": {"$ref": "#/$defs/apps.v1.DaemonSetUpdateStrategy"},
    "strategy": {"$ref": "#/$defs/apps.v1.DeploymentStrategy"},
}
"""Values that charts hand on to a pod."""
GROUPS = ("gpus", "computeDomains")
"""Resources in the DRA driver's chart."""


def chart_file(chart: Chart, folder: Path, modules: Path) -> Schema:
    """Schema of the values of a chart."""
    place = modules / chart.module if chart.module else folder
    values = yaml.safe_load((place / chart.values).read_text(encoding="utf-8"))
    schema = of_value("", {key: one for key, one in values.items() if key not in chart.open})
    if chart.conditions:
        loosened(schema, chart.written)
    added(schema, {**chart.more, **dict.fromkeys(chart.open, OPEN)})
    return {
        "source": {**origin(chart.source), "path": chart.values},
        "handedOn": [list(one) for one in chart.handed_on],
        "unread": list(chart.unread),
        "typed": chart.typed,
        "conditions": chart.conditions,
        "asked": list(chart.asked),
        "former": dict(chart.former),
        "values": schema,
    }


def of_value(name: str, value: Any) -> Schema:
    """The schema of a default value."""
    grouped = isinstance(value, dict) and any(group in value for group in GROUPS)
    if name in NAMED and not isinstance(value, str) and not grouped:
        return NAMED[name]
    if isinstance(value, dict):
        fields = {key: of_value(key, one) for key, one in value.items()}
        names = fields and all(re.fullmatch("[A-Za-z_-]+", key) for key in fields)
        return {"type": "object", "properties": fields} if names else OPEN
    if isinstance(value, list):
        return {"type": "array"}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {} if value is None else {"type": kinds[type(value)]}


PORTS = ("port", "portHttps", "portHttpsTarget", "healthProbePort")
GO_BOOLEAN = "^(1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$"
"""Texts that Go's strconv.ParseBool reads."""
COUNTS = ("replicas", "replicaCount", "revisionHistoryLimit")


def loosened(schema: Schema, written: tuple[str, ...], path: str = "") -> None:
    """Let scalars that templates write be text as well, and bound what has bounds everywhere."""
    for name, one in schema.get("properties", {}).items():
        here = f"{path}.{name}".removeprefix(".")
        if one.get("type") in ("integer", "number"):
            pattern = "^-?[0-9]+%?$" if one["type"] == "integer" else r"^-?[0-9]+(\.[0-9]+)?$"
            one.update(type=[one["type"], "string"], pattern=pattern)
            if name in PORTS:
                one.update(minimum=1, maximum=65535)
            elif name in COUNTS:
                one.update(minimum=0)
        elif one.get("type") == "boolean" and here in written:
            one.update(type=["boolean", "string"], pattern=GO_BOOLEAN)
        loosened(one, written, here)


def added(schema: Schema, more: Schema) -> None:
    """Put values that only comments name into a schema."""
    for name, one in more.items():
        if one and not isinstance(one.get("type"), str | list) and "$ref" not in one:
            section = schema["properties"].setdefault(name, {"type": "object", "properties": {}})
            added(section, one)
        else:
            schema["properties"][name] = one
