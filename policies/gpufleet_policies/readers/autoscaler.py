"""Objects that scale others: HorizontalPodAutoscaler, KEDA's ScaledObject and ScaledJob."""

from collections.abc import Mapping
from typing import Any

from gpufleet.documents.shapes import is_list, items, mapping
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.scaling import Autoscaler, ScalingFacts
from gpufleet_policies.facts.tristate import UNKNOWN, Fact, absent, known
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import at, fact, text

KINDS = frozenset(
    {
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("keda.sh", "ScaledObject"),
        ("keda.sh", "ScaledJob"),
    }
)
"""Group and kind of what scales other objects."""


def autoscaler_from(
    document: Mapping[str, Any], locator: Locator, api_group: str
) -> Autoscaler | None:
    """The autoscaler an object is; None for every other kind."""
    if (api_group, locator.kind) not in KINDS:
        return None
    return (_horizontal if api_group == "autoscaling" else _keda)(document, locator)


def _number(document: Any, place: str) -> Fact[int]:
    return fact(at(document, place), natural, place)


def _target(document: Any, key: str, default: str | None = None) -> Fact[str]:
    place = f"spec.scaleTargetRef.{key}"
    found: Fact[str] = fact(at(document, place), text, place)
    return found if default is None else found.or_default(default)


def _horizontal(document: Mapping[str, Any], locator: Locator) -> Autoscaler:
    """`minReplicas` is 1 where it is not written; metrics default to 80 % CPU."""
    cooldown = "spec.behavior.scaleDown.stabilizationWindowSeconds"
    metrics, metrics_known = _metrics(document)
    return Autoscaler(
        locator,
        _target(document, "kind"),
        _target(document, "name"),
        ScalingFacts(
            place="spec",
            minimum=_number(document, "spec.minReplicas").or_default(1),
            maximum=_number(document, "spec.maxReplicas"),
            cooldown_seconds=_number(document, cooldown),
            cooldown_place=cooldown,
        ),
        metrics,
        metrics_known,
        _written(document),
    )


def _metrics(document: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
    listed = at(document, "spec.metrics")
    if listed is None:  # version 1 has one field for CPU; version 2 defaults to CPU as well
        return ("cpu",), True
    if listed is UNKNOWN or not is_list(listed):
        return (), False
    found: list[str] = []
    for metric in listed:
        kind = at(metric, "type")
        if kind in ("Resource", "ContainerResource"):
            field = "resource" if kind == "Resource" else "containerResource"
            kind = at(metric, f"{field}.name")
        if not isinstance(kind, str):
            return tuple(found), False
        found.append(kind.lower())
    return tuple(found), True


def _keda(document: Mapping[str, Any], locator: Locator) -> Autoscaler:
    """KEDA's defaults: minimum 0, maximum 100, cooldown 300 s, and a Deployment as target."""
    types = [at(trigger, "type") for trigger in items(at(document, "spec.triggers"))]
    cooldown = "spec.cooldownPeriod"
    is_job = locator.kind == "ScaledJob"
    return Autoscaler(
        locator,
        known("ScaledJob") if is_job else _target(document, "kind", "Deployment"),
        known(locator.name) if is_job else _target(document, "name"),
        ScalingFacts(
            place="spec",
            minimum=_number(document, "spec.minReplicaCount").or_default(0),
            maximum=_number(document, "spec.maxReplicaCount").or_default(100),
            cooldown_seconds=absent() if is_job else _number(document, cooldown),
            cooldown_place=cooldown,
            idle_replicas=_number(document, "spec.idleReplicaCount"),
        ),
        tuple(kind for kind in types if isinstance(kind, str)),
        all(isinstance(kind, str) for kind in types),
        _written(document),
    )


def _written(document: Mapping[str, Any]) -> dict[str, str]:
    annotations = mapping(at(document, "metadata.annotations"))
    return {key: value for key, value in annotations.items() if isinstance(value, str)}
