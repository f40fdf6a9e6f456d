"""Numbers that no definition refuses, although the API server refuses them or reads them wrongly.

Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNonnegativeQuantity` of the
requests and limits of containers; k8s.io/apimachinery v0.36.3 `pkg/api/resource/quantity.go`: no
quantity may be above 2^63-1. Its `Value` of 1e19 is 0, so that a scheduler sees no GPU at all.
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.contract.schemas.problems import (
    SchemaProblem,
    SchemaProblemKind,
    field_name,
    path_of,
    visible,
)
from gpufleet.documents.quantities import LARGEST, exceeds_largest, quantity

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_LIMITS_OF_RANGES = ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")
_MOST_SHOWN, _MOST_BITS = 24, 128
Steps = tuple[str | int, ...]


def refused_numbers(document: Any) -> Iterator[SchemaProblem]:
    """Amounts of a document that are too large, and negative amounts of containers."""
    kind = SchemaProblemKind.BOUND
    for steps, value in _amounts(document, ()):
        if _is_too_large(value):
            shown = _shortened(value)
            message = f"{field_name(steps)} is {shown}, above the largest quantity: {LARGEST}"
            fix = f"write at most {LARGEST}"
            yield SchemaProblem(kind, path_of(steps), message, fix, steps, shown, LARGEST)
        elif steps[-3] == "resources" and _is_negative(value):
            shown = visible(document, steps, value) or "a number"
            message = f"{field_name(steps)} is {shown}, below the limit: at least 0"
            yield SchemaProblem(kind, path_of(steps), message, "write 0 or more", steps, shown, 0)


def _amounts(value: dict[str, Any] | list[Any], steps: Steps) -> Iterator[tuple[Steps, object]]:
    """The amounts below `value`, which is at `steps` of the document."""
    holds_amounts = _holds_amounts(steps)
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        if type(item) in (dict, list):
            yield from _amounts(item, (*steps, step))
        elif holds_amounts:
            yield (*steps, step), item


def _holds_amounts(steps: Steps) -> bool:
    """Whether it is a place of amounts: of a container, a ResourceQuota, a LimitRange or a
    NodePool. Quotas of Kueue are excluded: Google's own queues have `1000000000Ti`."""
    match steps:
        case ("spec", "hard" | "limits"):
            return True
        case ("spec", "limits", int(), part):
            return part in _LIMITS_OF_RANGES
        case (*_, containers, _, "resources", "limits" | "requests"):
            return containers in _CONTAINERS
        case _:
            return False


def _is_too_large(value: object) -> bool:
    if isinstance(value, str):
        return exceeds_largest(value)
    return isinstance(value, int | float) and abs(value) > LARGEST


def _shortened(value: object) -> str:
    """A number for a message; Python does not format numbers of many thousand digits."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of more than {int(value.bit_length() * 0.30103)} digits"
    text = str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text)} characters)"


def _is_negative(value: object) -> bool:
    text = str(value)
    found = quantity(text) if text.startswith("-") else None
    return found is not None and found < 0
