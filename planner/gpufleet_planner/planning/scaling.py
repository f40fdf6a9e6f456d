"""Scaling of a service: KEDA in its fleet, the scrape of its metric, and its ScaledObject."""

from collections.abc import Sequence
from typing import Any

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet import Fleet
from gpufleet.fleet.chart_values import merged
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.render.scaled_object import scaled_object
from gpufleet.render.scaling_signals import PROMETHEUS, SOURCES
from gpufleet.spec.monitoring import MonitoringBackend
from gpufleet.spec.scaling import KedaScaling, Signal
from gpufleet_planner.planning.workloads import ModelWorkload, PlacedWorkload, PlanHead
from gpufleet_planner.sizing.device import DeviceShare

_finding = findings_in(__file__)
SIGNAL = Signal.REQUESTS_RUNNING
"""Requests in flight, as vLLM exports them. Not GPU utilisation: that is high with one sequence."""
_HELD = 0.8
"""Part of the planned batch at which another replica starts, before requests queue (assumed)."""


def autoscaling_hint(work: PlacedWorkload) -> dict[str, Any] | None:
    """Least and most replicas, the metric and its target for each of them; None for what does not
    scale: jobs, notebooks, engines whose metric is not known, and where all are always needed."""
    entry = work.entry
    if work.need is None or work.need.trains or not isinstance(entry, ModelWorkload):
        return None
    if entry.engine not in (InferenceEngine.VLLM, InferenceEngine.VLLM_V0):
        return None
    most = work.option.reached.copies
    if work.need.replicas >= most:
        return None
    return {
        "minReplicas": work.need.replicas,
        "maxReplicas": most,
        "metric": SOURCES[SIGNAL].series,
        "target": max(int(work.option.reached.batch * _HELD), 1),
    }


def planned_scaled_object(work: PlacedWorkload, fleet: Fleet) -> dict[str, Any] | None:
    """The ScaledObject; None where nothing scales, or the fleet is declared without KEDA."""
    hint = autoscaling_hint(work)
    if hint is None or fleet.spec.addons.keda.enabled is not True:
        return None
    declared = {
        "target": {"name": work.entry.name, "namespace": work.namespace},
        "min": hint["minReplicas"],
        "max": hint["maxReplicas"],
        "on": [{"signal": SIGNAL.value, "target": hint["target"]}],
        "server": _server(fleet),
        "mig": work.option.share.kind is DeviceShare.MIG,
    }
    return scaled_object(KedaScaling.model_validate(declared))


def scaling_data(head: PlanHead, placed: Sequence[PlacedWorkload]) -> dict[str, Any]:
    """Additions to the FleetSpec of a service that scales: KEDA, unless the file's `spec` disables
    it, and the scrape of the service where the file has `monitoring`."""
    scaling = [work for work in placed if autoscaling_hint(work) is not None]
    if not scaling:
        return {}
    addons: dict[str, Any] = head.spec.get("addons") or {}
    monitoring: dict[str, Any] = head.spec.get("monitoring") or {}
    found = {"addons": merged({"keda": {"enabled": True}}, addons)}
    if "monitoring" not in head.spec:
        return found
    scraped = [
        {"name": work.entry.name, "namespace": work.namespace, "labels": {"app": work.entry.name}}
        for work in scaling
    ]
    own = monitoring.get("servers", [])
    return found | {"monitoring": {**monitoring, "servers": [*own, *scraped]}}


def validate_scaling(fleet: Fleet | None, placed: Sequence[PlacedWorkload]) -> list[Finding]:
    """A finding where the planned fleet does not scrape the metric that replicas follow."""
    if fleet is None:
        return []
    monitoring = fleet.spec.monitoring
    if monitoring is not None and monitoring.backend is not MonitoringBackend.NONE:
        return []
    names = [w.entry.name for w in placed if planned_scaled_object(w, fleet) is not None]
    if not names:
        return []
    series, server = SOURCES[SIGNAL].series, _server(fleet)
    found = _finding("scaling-metric-not-scraped", workloads=names, series=series, server=server)
    return [found]


def _server(fleet: Fleet) -> str:
    monitoring = fleet.spec.monitoring
    return (monitoring.query_url if monitoring is not None else None) or PROMETHEUS
