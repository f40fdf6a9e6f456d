"""NVIDIA's DRA driver in its chart's configuration: its nodes, its gates, or its start error.

Follows kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0 (read 2026-11-21). Its start options are read
from the ConfigMap that the simulator chart writes.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.node_selection import matches, required_terms, untolerated

DRIVER_NAME = "gpu.nvidia.com"
CHART_NAME = "dra-driver-nvidia-gpu"
COMPONENT = "simulated-kubelet-plugin"
NAME_LABEL, COMPONENT_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/component"

_GATES = {
    "TimeSlicingSettings": False,
    "MPSSupport": False,
    "PassthroughSupport": False,
    "DynamicMIG": False,
    "NVMLDeviceHealthCheck": False,
    "DeviceMetadata": False,
    "FabricManagerPartitioning": False,
    "HostManagedIMEXDaemon": False,
    "DRAListTypeAttributes": False,
    "ConsumableShares": False,
    "IMEXDaemonsWithDNSNames": True,
    "ComputeDomainCliques": True,
    "CrashOnNVLinkFabricErrors": True,
    # Kubernetes' own, which the driver takes in the same place.
    "ContextualLogging": True,
    "LoggingAlphaOptions": False,
    "LoggingBetaOptions": True,
}


class DraDriverError(Exception):
    """The driver's pod does not start; the text is that of its log."""


@dataclass(frozen=True, slots=True)
class SimulatedDraDriver:
    """One installation of the chart."""

    gates: Mapping[str, bool]
    """Every gate with its value."""
    driver_root: str
    """Path of the GPU driver on a node."""
    node_selector: Mapping[str, str]
    terms: tuple[Mapping[str, Any], ...]
    """Node selector terms of its affinity; empty: any node."""
    tolerations: tuple[Mapping[str, Any], ...]
    crash: str | None
    """Why it crashes on every node; None: it starts."""

    def runs_on(self, labels: Mapping[str, str]) -> bool:
        """Whether its DaemonSet selects a node with these labels."""
        if any(labels.get(key) != value for key, value in self.node_selector.items()):
            return False
        return not self.terms or any(matches(term, labels) for term in self.terms)

    def untolerated(self, taints: Iterable[Mapping[str, Any]]) -> str | None:
        """The first taint that keeps its pod away; None when it bears them all."""
        return untolerated(self.tolerations, taints)


def read_dra_driver(config_maps: Iterable[Mapping[str, Any]]) -> SimulatedDraDriver | None:
    """The driver of the cluster; None where its chart is not installed, or serves no GPUs."""
    for item in config_maps:
        labels = item["metadata"].get("labels") or {}
        if labels.get(NAME_LABEL) != CHART_NAME or labels.get(COMPONENT_LABEL) != COMPONENT:
            continue
        try:
            values: Any = json.loads((item.get("data") or {})["values.json"])
            if not values["resources"]["gpus"]["enabled"]:
                return None
            plugin = values["kubeletPlugin"]
            given = dict(values.get("featureGates") or {})
            return SimulatedDraDriver(
                gates={**_GATES, **given},
                driver_root=str(values["nvidiaDriverRoot"]),
                node_selector=dict(plugin.get("nodeSelector") or {}),
                terms=required_terms(plugin.get("affinity") or {}),
                tolerations=tuple(plugin.get("tolerations") or ()),
                crash=_gate_problem(given),
            )
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as problem:
            nothing: dict[str, str] = {}
            text = f"values cannot be read: {type(problem).__name__} {problem}"
            return SimulatedDraDriver(dict(_GATES), "/", nothing, (), (), text)
    return None


def _gate_problem(given: Mapping[str, bool]) -> str | None:
    """The driver's own checks of its gates, in its order."""
    unknown = sorted(set(given) - set(_GATES))
    if unknown:
        return f"unrecognized feature gate: {unknown[0]}"
    on = {name for name, value in {**_GATES, **given}.items() if value}
    for one, other in (
        ("PassthroughSupport", "DynamicMIG"),
        ("NVMLDeviceHealthCheck", "DynamicMIG"),
        ("MPSSupport", "DynamicMIG"),
        ("PassthroughSupport", "NVMLDeviceHealthCheck"),
    ):
        if {one, other} <= on:
            return f"feature gate {one} is currently mutually exclusive with {other}"
    for one, other in (
        ("DeviceMetadata", "PassthroughSupport"),
        ("ComputeDomainCliques", "IMEXDaemonsWithDNSNames"),
    ):
        if one in on and other not in on:
            return f"feature gate {one} requires {other} to also be enabled"
    return None
