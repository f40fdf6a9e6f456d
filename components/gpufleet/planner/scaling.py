"""How a service may scale: a hint in its manifest, and the object that follows it."""

from typing import Any

from gpufleet.planner.plan import PlacedWorkload
from gpufleet.planner.workloads import ModelWorkload
from gpufleet.render.scaled_object import scaled_object
from gpufleet.render.scaling_signals import PROMETHEUS, SOURCES
from gpufleet.sizing.device import DeviceShare
from gpufleet.sizing.engine_profile import InferenceEngine
from gpufleet.spec.scaling import KedaScaling, Signal

SIGNAL = Signal.REQUESTS_RUNNING
"""Requests in flight, as vLLM exports them. Not GPU utilisation: that is high with one sequence."""
_HELD = 0.8
"""Part of the planned batch at which another replica starts, before requests queue (assumed)."""


def autoscaling_hint(work: PlacedWorkload) -> dict[str, Any] | None:
    """Least and most replicas, the metric and its target for each of them; None for what does not
    scale: jobs and notebooks, and for engines whose metric is not known."""
    entry = work.entry
    if work.need is None or work.need.trains or not isinstance(entry, ModelWorkload):
        return None
    if entry.engine not in (InferenceEngine.VLLM, InferenceEngine.VLLM_V0):
        return None
    most = work.option.reached.copies
    return {
        "minReplicas": min(work.need.replicas, most),
        "maxReplicas": most,
        "metric": SOURCES[SIGNAL].series,
        "target": max(int(work.option.reached.batch * _HELD), 1),
    }


def scaling_annotations(work: PlacedWorkload) -> dict[str, str]:
    """The hint on the Deployment; empty where all replicas are always needed."""
    hint = autoscaling_hint(work)
    if hint is None or hint["minReplicas"] == hint["maxReplicas"]:
        return {}
    return {
        "gpufleet.dev/scale-min": str(hint["minReplicas"]),
        "gpufleet.dev/scale-max": str(hint["maxReplicas"]),
        "gpufleet.dev/scale-metric": hint["metric"],
        "gpufleet.dev/scale-target": str(hint["target"]),
    }


def hinted_object(work: PlacedWorkload, namespace: str) -> dict[str, Any] | None:
    """The ScaledObject that `GpuScaledObject` would make of the hint; None where nothing scales."""
    hint = autoscaling_hint(work)
    if hint is None or hint["minReplicas"] == hint["maxReplicas"]:
        return None
    declared = {
        "target": {"name": work.entry.name, "namespace": namespace},
        "min": hint["minReplicas"],
        "max": hint["maxReplicas"],
        "on": [{"signal": SIGNAL.value, "target": hint["target"]}],
        "server": PROMETHEUS,
        "mig": work.option.share.kind is DeviceShare.MIG,
    }
    return scaled_object(KedaScaling.model_validate(declared))
