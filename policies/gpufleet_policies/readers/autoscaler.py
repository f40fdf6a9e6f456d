"""Objects that scale others: HorizontalPodAutoscaler, KEDA's ScaledObject and ScaledJob."""

from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.fact import Fact, absent, known
from gpufleet.cluster.scaling import Autoscaler, ScalingFacts
from gpufleet.documents.shapes import mapping
from gpufleet.findings.locator import Locator
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
    """`minReplicas` is 1 where it is not written."""
    cooldown = "spec.behavior.scaleDown.stabilizationWindowSeconds"
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
        _written(document),
    )


def _keda(document: Mapping[str, Any], locator: Locator) -> Autoscaler:
    """KEDA's defaults: minimum 0, maximum 100, cooldown 300 s, and a Deployment as target."""
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
        _written(document),
    )


def _written(document: Mapping[str, Any]) -> dict[str, str]:
    annotations = mapping(at(document, "metadata.annotations"))
    return {key: value for key, value in annotations.items() if isinstance(value, str)}
