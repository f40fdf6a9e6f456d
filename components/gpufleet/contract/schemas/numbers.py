"""Numbers that the API server refuses though their definition allows them.

Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNonnegativeQuantity` of the
requests and limits of containers.
"""

from collections.abc import Iterator
from typing import Any, cast

from gpufleet.contract.schemas.problems import (
    SchemaProblem,
    SchemaProblemKind,
    field_name,
    path_of,
    visible,
)
from gpufleet.documents.quantities import quantity

_CONTAINERS = {"containers", "initContainers", "ephemeralContainers"}
_AMOUNTS = {"limits", "requests"}
_BELOW_CONTAINERS = 5
"""Steps of `containers[0].resources.limits.cpu`."""


def refused_numbers(
    document: Any, value: Any, steps: tuple[str | int, ...] = ()
) -> Iterator[SchemaProblem]:
    """The numbers below `value`, which is at `steps` of the document."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield from refused_numbers(document, item, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from refused_numbers(document, item, (*steps, index))
    elif _is_amount(steps) and _is_negative(value):
        shown = visible(document, steps, value) or "a number"
        message = f"{field_name(steps)} is {shown}, below the limit: at least 0"
        kind = SchemaProblemKind.BOUND
        yield SchemaProblem(kind, path_of(steps), message, "write 0 or more", steps, shown, 0)


def _is_amount(steps: tuple[str | int, ...]) -> bool:
    """Whether it is the place of a request or limit of a container."""
    if len(steps) < _BELOW_CONTAINERS:
        return False
    containers, _, resources, amounts, _ = steps[-_BELOW_CONTAINERS:]
    return containers in _CONTAINERS and resources == "resources" and amounts in _AMOUNTS


def _is_negative(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    found = quantity(str(value))
    return found is not None and found < 0
