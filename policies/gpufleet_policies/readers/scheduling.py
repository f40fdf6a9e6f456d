"""Placement of pods: node labels, tolerations, zones, claims, priority, scheduler."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, absent, unknown
from gpufleet.cluster.pods import PodClaim, PodToleration
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.names import names
from gpufleet_policies.readers.reading import at, fact, text, words

ZONE_LABELS = frozenset(names("label of a zone"))
"""Labels that name the zone of a node."""

PRESENT = "nvidia.com/gpu.present"
_DISCOVERED = re.compile(r"nvidia\.com/(?:gpu\.(?:product|count|memory|compute)|mig\.|cuda\.)")
"""Labels of GPU Feature Discovery and for the MIG manager: only nodes with GPUs have them."""
_PCI = re.compile(r"feature\.node\.kubernetes\.io/pci-(03\d\d_)?10de\.present")
"""Label of Node Feature Discovery for NVIDIA cards (gpu-operator `hack/must-gather.sh`)."""
_CLOUD_GPU = names("label of a node with GPUs by its maker")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TOPOLOGY_ANNOTATIONS = names("annotation that keeps pods together")
"""Annotations that keep the pods of a group near each other."""


def selections(spec: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Alternatives of which one is enough: labels required by nodeSelector and a term of the
    required node affinity (and the name, as `metadata.name`)."""
    own = {k: v for k, v in mapping(spec.get("nodeSelector")).items() if text(v) is not None}
    always = [{"key": key, "operator": "In", "values": [one]} for key, one in own.items()]
    required = at(spec, f"affinity.nodeAffinity.{REQUIRED}")
    terms = map(mapping, items(mapping(required).get("nodeSelectorTerms")))
    parts = ("matchExpressions", "matchFields")
    asked = [[mapping(one) for part in parts for one in items(term.get(part))] for term in terms]
    return [always] if required is None else [[*always, *one] for one in asked if one]


def node_labels(spec: dict[str, Any]) -> dict[str, frozenset[str]]:
    """Required node labels, as far as a map of allowed values can express them."""
    choices, required = selections(spec), dict[str, frozenset[str]]()
    # Several terms are alternatives: none of them alone is required.
    asked = choices[0] if len(choices) == 1 else selections({**spec, "affinity": None})[0]
    for one in asked:
        key, values = one.get("key"), words(one.get("values"))
        if one.get("operator") == "In" and isinstance(key, str) and values is not None:
            allowed = frozenset(values)
            required[key] = required.get(key, allowed) & allowed
    return required


def labels_known(spec: dict[str, Any]) -> bool:
    """Whether all required labels are known and fit a map."""
    choices, selector = selections(spec), spec.get("nodeSelector")
    if selector is UNKNOWN or UNKNOWN in mapping(selector).values() or len(choices) != 1:
        return False
    return all(one.get("operator") == "In" for one in choices[0])


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
        value = UNKNOWN if operator in ("Gt", "Lt") else fields.get("value")  # of 1.35, by a gate
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


def has_nvidia(labels: Mapping[str, Any], resources: Iterable[str]) -> bool:
    """Whether labels or resources of a node show NVIDIA GPUs in it."""
    return (
        labels.get(PRESENT) == "true"
        or any(name.startswith("nvidia.com/") for name in resources)
        or any(_PCI.fullmatch(key) and value == "true" for key, value in labels.items())
        or any(key in _CLOUD_GPU or _DISCOVERED.match(key) for key in labels)
    )


def claims(spec: dict[str, Any], place: str) -> Iterator[PodClaim]:
    """Claims of the pods for devices, with the place where their kind has them."""
    for index, one in enumerate(items(spec.get("resourceClaims"))):
        where = f"{place}[{index}]"
        if not is_mapping(one):
            yield PodClaim("?", where, unknown(where), unknown(where))
            continue
        # Before 1.31 the two names were under `source`.
        fields = {**mapping(one.get("source")), **one}
        name = fields.get("name")
        yield PodClaim(
            name if isinstance(name, str) else "?",
            where,
            fact(fields.get("resourceClaimName"), text, f"{where}.resourceClaimName"),
            fact(fields.get("resourceClaimTemplateName"), text, where),
        )


def is_zone_bound(spec: dict[str, Any], annotations: dict[str, Any]) -> bool:
    """Whether selector, affinity or a topology request keeps the pods in one zone, or may."""
    if any(key in annotations for key in _TOPOLOGY_ANNOTATIONS):
        return True
    selector, affinity = spec.get("nodeSelector"), spec.get("affinity")
    if UNKNOWN in (selector, affinity) or mapping(affinity).get("podAffinity") is not None:
        return True
    return not ZONE_LABELS.isdisjoint(mapping(selector)) or any(
        one.get("key") in ZONE_LABELS for term in selections(spec) for one in term
    )
