"""KEDA's objects (keda.sh/v1alpha1): scaling by a query, down to zero, and jobs from a queue."""

from dataclasses import dataclass
from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.scaling_rules import DEFAULT_TARGETS, told_by_pods
from gpufleet.render.data_files import data_part
from gpufleet.spec.scaling import Fallback, KedaScaling, ScaleOn, ScalingTarget, Signal

API_VERSION = "keda.sh/v1alpha1"
LEAST_COOLDOWN = 300
"""KEDA's own default, in seconds."""


def scaled_object(scaling: KedaScaling) -> dict[str, Any]:
    """A ScaledObject with the name of its target.

    An empty answer is an error, not a zero: a failed exporter must not stop a service. While the
    signal cannot be read, the fallback applies. Signals of the pods themselves are empty at 0
    replicas: as an error this would keep the fallback's replicas running forever.
    """
    target = scaling.target
    fallback = scaling.fallback or Fallback(replicas=max(scaling.min, 1))
    spec = data_part(
        "keda",
        "scaledObject",
        api_version=target.api_version,
        kind=target.kind,
        name=target.name,
        **_common(scaling),
        cooldown=_cooldown(scaling),
        load=scaling.load.total,
        failures=fallback.failures,
        replicas=fallback.replicas,
        behaviour=behaviour(scaling),
    )
    return _object("ScaledObject", scaling, spec)


def scaled_job(scaling: KedaScaling, job: dict[str, Any]) -> dict[str, Any]:
    """A ScaledJob: one Job for each `target` of the queue; no Job is stopped before it is done."""
    spec = data_part("keda", "scaledJob", job=job, **_common(scaling))
    return _object("ScaledJob", scaling, spec)


def trigger_authentication(scaling: KedaScaling) -> dict[str, Any] | None:
    """The object that names Secrets; None: not needed."""
    if not scaling.secrets:
        return None
    named = [
        {"parameter": one.parameter, "name": one.secret, "key": one.key} for one in scaling.secrets
    ]
    return _object("TriggerAuthentication", scaling, {"secretTargetRef": named})


def _object(kind: str, scaling: KedaScaling, spec: dict[str, Any]) -> dict[str, Any]:
    target = scaling.target
    return manifest(API_VERSION, kind, target.name, target.namespace, spec=spec)


def _cooldown(scaling: KedaScaling) -> int:
    if scaling.cooldown_seconds is not None:
        return scaling.cooldown_seconds
    return max(LEAST_COOLDOWN, 2 * scaling.load.total)


def _common(scaling: KedaScaling) -> dict[str, Any]:
    return {
        "min": scaling.min,
        "max": scaling.max,
        "polling": scaling.polling_seconds,
        "triggers": [_trigger(scaling, on) for on in scaling.on],
    }


def _trigger(scaling: KedaScaling, on: ScaleOn) -> dict[str, Any]:
    name = scaling.authentication or (scaling.target.name if scaling.secrets else None)
    return data_part(
        "keda",
        "trigger",
        name=on.signal.value.lower(),
        server=scaling.server,
        query=query_of(scaling, on),
        threshold=f"{target_of(on):g}",
        activation=f"{on.activation:g}",
        ignored="true" if scaling.min == 0 and told_by_pods(on) else "false",
        modes=scaling.auth_modes,
        authentication=None if name is None else {"name": name},
    )


# Each signal as a series and a query of one number; and how fast to act.

PROMETHEUS = "http://prometheus-operated.monitoring:9090"
"""Default address of the Prometheus operator's service."""
MAX_PERIOD = 1800
"""Longest period of a scaling policy (autoscaling/v2)."""
MAX_WINDOW = 3600
"""Longest stabilisation window."""
LONGEST_UNCUT = 63 - 5 - len("-0123456789-")
"""Longest name of a Deployment whose pods carry its whole hash."""
LEAST_WINDOW = 300
"""Kubernetes' own window for removing replicas."""


@dataclass(frozen=True, slots=True)
class PodMetric:
    """Source of a signal."""

    series: str
    namespace_label: str = "namespace"
    pod_label: str = "pod"


SOURCES: dict[Signal, PodMetric] = {
    Signal.REQUESTS_RUNNING: PodMetric("vllm:num_requests_running"),
    Signal.REQUESTS_WAITING: PodMetric("vllm:num_requests_waiting"),
    Signal.KV_CACHE: PodMetric("vllm:kv_cache_usage_perc"),
    # Recorded by GpuMonitoring: their labels do not depend on honorLabels.
    Signal.TENSOR_ACTIVE: PodMetric(
        "gpu:tensor_active:ratio", "workload_namespace", "workload_pod"
    ),
    Signal.GPU_UTILISATION: PodMetric(
        "gpu:engine_active:ratio", "workload_namespace", "workload_pod"
    ),
}


def target_of(on: ScaleOn) -> float:
    """The target: the declared, else the usual one; 1 for the wanted number of replicas."""
    if on.thresholds is not None:
        return 1
    return on.target if on.target is not None else DEFAULT_TARGETS[on.signal]


def query_of(scaling: KedaScaling, on: ScaleOn) -> str:
    """One number over all replicas: the sum, which KEDA divides by the target of one.

    With two thresholds it is the target number of replicas: twice, half, or equal to the current
    number. `behaviour` adds and removes few of them at a time.
    """
    if on.query is not None:
        return on.query
    source = SOURCES[on.signal]
    who = (
        f'{source.namespace_label}="{scaling.target.namespace}", '
        f'{source.pod_label}=~"{pod_pattern(scaling.target)}"'
    )
    device = f"{source.series}{{{who}}}"
    if on.thresholds is None:
        return f"sum({device})"
    pods = (
        f'kube_pod_status_phase{{namespace="{scaling.target.namespace}", '
        f'pod=~"{pod_pattern(scaling.target)}", phase=~"Pending|Running"}} == 1'
    )
    busy = f"(avg({device}) > bool {on.thresholds.above:g})"
    quiet = f"(avg({device}) < bool {on.thresholds.below:g})"
    return f"count({pods}) * (1 + {busy} - {quiet} / 2)"


def pod_pattern(target: ScalingTarget) -> str:
    """Regular expression of the names of the target's pods, and of no other target: names of pods
    of `vllm-large` begin with `vllm-` too.

    A Deployment's are `<name>-<hash>-<5 characters>`, a StatefulSet's `<name>-<number>`. Pod names
    are truncated to 63 characters, so the pattern of a long Deployment name is wider.
    """
    if target.kind == "StatefulSet":
        return f"{target.name}-[0-9]+"
    if target.kind == "Deployment" and len(target.name) <= LONGEST_UNCUT:
        return f"{target.name}-[a-z0-9]{{1,10}}-[a-z0-9]{{5}}"
    return f"{target.name}-.*"


def behaviour(scaling: KedaScaling) -> dict[str, Any]:
    """Add two replicas at a time, and more after they answer; remove one at a time, late.

    A faster scaler would add again before the first replicas have an effect, and remove replicas
    that take minutes to restart. Two thresholds include the time themselves.
    """
    period = min(MAX_PERIOD, max(15, scaling.load.total))
    window = min(MAX_WINDOW, max(LEAST_WINDOW, 2 * period))
    quiet = [60 * on.thresholds.minutes for on in scaling.on if on.thresholds is not None]
    if quiet:
        # Kubernetes removes only replicas that were unneeded during the whole window.
        window = max(quiet) if len(quiet) == len(scaling.on) else max(window, *quiet)
    return data_part("keda", "behaviour", period=period, window=window)
