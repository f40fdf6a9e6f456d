"""KEDA's objects (keda.sh/v1alpha1): scaling by a query, down to zero, and jobs from a queue."""

from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.scaling_rules import told_by_pods
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
    spec = {
        "scaleTargetRef": {
            "apiVersion": target.api_version,
            "kind": target.kind,
            "name": target.name,
        },
        "minReplicaCount": scaling.min,
        "maxReplicaCount": scaling.max,
        "pollingInterval": scaling.polling_seconds,
        "cooldownPeriod": _cooldown(scaling),
        # A service that loads for minutes is not yet idle when it was just made.
        "initialCooldownPeriod": scaling.load.total,
        "fallback": {
            "failureThreshold": fallback.failures,
            "replicas": fallback.replicas,
            "behavior": "currentReplicasIfHigher",
        },
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behaviour(scaling)}},
        "triggers": [_trigger(scaling, on) for on in scaling.on],
    }
    return _object("ScaledObject", scaling, spec)


def scaled_job(scaling: KedaScaling, job: dict[str, Any]) -> dict[str, Any]:
    """A ScaledJob: one Job for each `target` of the queue; no Job is stopped before it is done."""
    spec = {
        "jobTargetRef": job,
        "pollingInterval": scaling.polling_seconds,
        "minReplicaCount": scaling.min,
        "maxReplicaCount": scaling.max,
        # Counts jobs that wait for a node as started: a GPU takes minutes to come.
        "scalingStrategy": {"strategy": "accurate"},
        "rollout": {"strategy": "gradual"},
        "triggers": [_trigger(scaling, on) for on in scaling.on],
    }
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


def _trigger(scaling: KedaScaling, on: ScaleOn) -> dict[str, Any]:
    metadata = {
        "serverAddress": scaling.server,
        "query": query_of(scaling, on),
        "threshold": f"{target_of(on):g}",
        "activationThreshold": f"{on.activation:g}",
        "ignoreNullValues": "true" if scaling.min == 0 and told_by_pods(on) else "false",
        **({} if scaling.auth_modes is None else {"authModes": scaling.auth_modes}),
    }
    name = scaling.authentication or (scaling.target.name if scaling.secrets else None)
    return {
        "type": "prometheus",
        "name": on.signal.value.lower(),
        "metricType": "AverageValue",
        "metadata": metadata,
        **({} if name is None else {"authenticationRef": {"name": name}}),
    }
