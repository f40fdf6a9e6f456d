"""KEDA's objects (keda.sh/v1alpha1): scaling by a query, down to zero, and jobs from a queue."""

from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.scaling_rules import told_by_pods
from gpufleet.render.data_files import data_part
from gpufleet.render.scaling_signals import behaviour, query_of, target_of
from gpufleet.spec.scaling import Fallback, KedaScaling, ScaleOn

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
