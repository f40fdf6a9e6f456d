"""Placement of pods: node labels, tolerations, zones, claims, priority, scheduler."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, absent, unknown
from gpufleet.cluster.pods import PodClaim, PodToleration
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.names import names
from gpufleet_policies.readers.reading import at, fact, text, words

ZONE_LABELS = frozenset(names("label of a zone"))
"""Labels that name the zone of a node."""

_TERMS = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_TOGETHER = "affinity.podAffinity"
_TOPOLOGY_ANNOTATIONS = names("annotation that keeps pods together")
"""Annotations that keep the pods of a group near each other."""


def node_labels(spec: dict[str, Any]) -> dict[str, frozenset[str]]:
    """Required node labels, as far as a map of allowed values can express them."""
    selector = spec.get("nodeSelector")
    required = {
        key: frozenset({value})
        for key, value in mapping(selector).items()
        if isinstance(value, str) and text(value) is not None
    }
    if "affinity" not in spec:
        return required
    terms = items(at(spec, _TERMS))
    if len(terms) != 1:
        return required  # several terms are alternatives: none of them alone is required
    for expression in items(mapping(terms[0]).get("matchExpressions")):
        key, values = at(expression, "key"), words(at(expression, "values"))
        if at(expression, "operator") == "In" and isinstance(key, str) and values is not None:
            allowed = frozenset(values)
            required[key] = required.get(key, allowed) & allowed
    return required


def labels_known(spec: dict[str, Any]) -> bool:
    """Whether all required labels are known and fit a map."""
    selector = spec.get("nodeSelector")
    if selector is UNKNOWN or UNKNOWN in mapping(selector).values():
        return False
    if "affinity" not in spec:
        return True
    terms = at(spec, _TERMS)
    if terms is None:
        return True
    found = items(terms)
    return len(found) == 1 and all(
        at(expression, "operator") == "In"
        for expression in items(mapping(found[0]).get("matchExpressions"))
    )


def tolerations(spec: dict[str, Any], place: str) -> Fact[tuple[PodToleration, ...]]:
    """Every toleration of the pods; not known as soon as one is not."""
    written = spec.get("tolerations")
    where = f"{place}.tolerations"
    if written is None:
        return absent(where)
    return fact(written, toleration_list, where)


def toleration_list(value: Any) -> tuple[PodToleration, ...] | None:
    """The tolerations of a list; None as soon as one cannot be read."""
    if not is_list(value):
        return None
    found: list[PodToleration] = []
    for one in value:
        fields = mapping(one)
        key, operator, effect = (fields.get(name) or "" for name in ("key", "operator", "effect"))
        if not (is_mapping(one) and all(isinstance(p, str) for p in (key, operator, effect))):
            return None
        value = fields.get("value")
        written = value if isinstance(value, str) else "" if value is None else "?"
        found.append(PodToleration(key, operator or "Equal", effect, written))
    return tuple(found)


def uncovered(
    taints: Iterable[Mapping[str, Any]], own: Iterable[PodToleration]
) -> Iterator[dict[str, str]]:
    """Key, value and effect of each taint of a node that keeps pods with these tolerations away."""
    for taint in taints:
        found = {part: str(taint.get(part) or "") for part in ("key", "value", "effect")}
        key, value, effect = found.values()
        hard = effect in {"NoSchedule", "NoExecute"}
        if hard and not any(one.covers(key, effect, value) for one in own):
            yield found


def meets(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy one requirement (apimachinery `pkg/labels` Requirement.Matches)."""
    values = [str(one) for one in items(requirement.get("values"))]
    value, operator = labels.get(str(requirement.get("key"))), requirement.get("operator")
    match operator:
        case "In" | "NotIn":
            return (value in values) is (operator == "In")
        case "Exists" | "DoesNotExist":
            return (value is not None) is (operator == "Exists")
        case "Gt" | "Lt":
            numbers = [int(one) for one in (value or "", *values[:1]) if one.isdecimal()]
            sign = 1 if operator == "Gt" else -1
            return len(numbers) == 2 and (numbers[0] - numbers[1]) * sign > 0
        case _:
            return False


def selects(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether a label selector selects labels (apimachinery LabelSelectorAsSelector)."""
    rules = map(mapping, items(selector.get("matchExpressions")))
    return all(labels.get(k) == v for k, v in mapping(selector.get("matchLabels")).items()) and all(
        meets(one, labels) for one in rules
    )


def claims(spec: dict[str, Any], place: str) -> Iterator[PodClaim]:
    """Claims of the pods for devices, with the place where their kind has them."""
    for index, one in enumerate(items(spec.get("resourceClaims"))):
        where = f"{place}[{index}]"
        name = at(one, "name")
        # Before 1.31 the two names were under `source`.
        old = at(one, "source") if is_mapping(one) else None
        fields = mapping(one) if old is None else {**mapping(old), **mapping(one)}
        yield PodClaim(
            name if isinstance(name, str) else "?",
            where,
            fact(fields.get("resourceClaimName"), text, f"{where}.resourceClaimName")
            if is_mapping(one)
            else unknown(where),
            fact(fields.get("resourceClaimTemplateName"), text, where)
            if is_mapping(one)
            else unknown(where),
        )


def is_zone_bound(spec: dict[str, Any], annotations: dict[str, Any]) -> bool:
    """Whether selector, affinity or a topology request keeps the pods in one zone, or may."""
    if any(key in annotations for key in _TOPOLOGY_ANNOTATIONS):
        return True
    selector = spec.get("nodeSelector")
    if selector is UNKNOWN or ZONE_LABELS.intersection(mapping(selector)):
        return True
    affinity = spec.get("affinity")
    if affinity is None:
        return False
    if not is_mapping(affinity) or at(spec, _TOGETHER) is not None:
        return True
    return any(zone in str(at(spec, _TERMS)) for zone in ZONE_LABELS)
