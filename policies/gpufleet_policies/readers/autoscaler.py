"""Objects that scale others: HorizontalPodAutoscaler, KEDA's ScaledObject and ScaledJob."""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.fact import Fact, absent, known
from gpufleet.cluster.scaling import Autoscaler, ScalingFacts
from gpufleet.documents.shapes import known_texts
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import at, fact, text


def _number(document: Any, place: str) -> Fact[int]:
    return fact(at(document, place), natural, place)


def _target(document: Any, key: str, default: str | None = None) -> Fact[str]:
    place = f"spec.scaleTargetRef.{key}"
    found: Fact[str] = fact(at(document, place), text, place)
    return found if default is None else found.or_default(default)


def horizontal(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """autoscaling HorizontalPodAutoscaler; `minReplicas` is 1 where it is not written."""
    cooldown = "spec.behavior.scaleDown.stabilizationWindowSeconds"
    yield Autoscaler(
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
        known_texts(inside(document, "metadata.annotations")),
    )


def keda(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """keda.sh ScaledObject and ScaledJob. Defaults: minimum 0, maximum 100, cooldown 300 s, and a
    Deployment as target."""
    cooldown = "spec.cooldownPeriod"
    is_job = locator.kind == "ScaledJob"
    yield Autoscaler(
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
        known_texts(inside(document, "metadata.annotations")),
    )
