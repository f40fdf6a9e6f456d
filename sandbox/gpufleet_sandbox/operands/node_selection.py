"""Nodes that a DaemonSet selects and tolerates, by selectors, affinity and taints."""

from collections.abc import Iterable, Mapping
from typing import Any


def required_terms(affinity: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The terms of which a node must meet one; empty: any node will do."""
    node = affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(required.get("nodeSelectorTerms") or ())


def matches(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels meets all expressions of a term."""
    return all(_holds(each, labels) for each in term.get("matchExpressions") or ())


def untolerated(
    tolerations: Iterable[Mapping[str, Any]], taints: Iterable[Mapping[str, Any]]
) -> str | None:
    """The first taint that keeps a DaemonSet's pod away; None when it bears them all."""
    borne = tuple(tolerations)
    for taint in taints:
        # Pods of DaemonSets bear what the node's own state brings and takes away.
        passing = str(taint["key"]).startswith("node.kubernetes.io/")
        if passing or taint.get("effect") == "PreferNoSchedule":
            continue
        if not any(_bears(toleration, taint) for toleration in borne):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"{taint['key']}{value}:{taint.get('effect')}"
    return None


def _bears(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return toleration.get("value", "") == taint.get("value", "")


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    found, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case _:
            # Gt and Lt: GPU nodes are not selected by a number.
            return False
