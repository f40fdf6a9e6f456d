"""Which nodes a DaemonSet wants, as the scheduler reads node selectors and affinity."""

from collections.abc import Mapping
from typing import Any


def required_terms(affinity: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The terms of which a node must meet one; empty: any node will do."""
    node = affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(required.get("nodeSelectorTerms") or ())


def matches(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels meets all expressions of a term."""
    return all(_holds(each, labels) for each in term.get("matchExpressions") or ())


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
            # Gt and Lt: nobody selects GPU nodes by a number.
            return False
