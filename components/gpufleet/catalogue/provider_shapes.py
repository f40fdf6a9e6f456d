"""Names and types of a resource's inputs, for resources whose inputs a declaration can write raw.

The rows `inputs` of `providers/<cloud>.jsonl`, from the SDK of the provider: an object is a
mapping, a list a list of its one shape, `*` any name, and a null what is not checked.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from gpufleet.catalogue.provider_inputs import InputViolation, provider_rows

_TRUTHS = ("true", "false")


@cache
def _shape_of(token: str) -> Any:
    rows = provider_rows(token.partition(":")[0])
    return next(
        (one["inputs"] for one in rows if one.get("type") == token and "inputs" in one), None
    )


def inputs_of(token: str) -> Mapping[str, Any]:
    """Inputs of a resource and their types; empty for a type without a row."""
    return _shape_of(token) or {}


def unknown_inputs(token: str, inputs: Mapping[str, Any]) -> Iterator[InputViolation]:
    """Inputs that the resource does not have, or that cannot be converted to its type.

    The provider converts numbers, texts and truth values into each other if the value stays equal.

    Args:
        token: Type of the resource. A type without a row has no violations.
        inputs: Its inputs, as the provider spells them.
    """
    yield from _of(_shape_of(token), inputs, "")


def _of(shape: Any, value: Any, place: str) -> Iterator[InputViolation]:
    if isinstance(shape, str) or value is None:
        if value is not None and not _converts(shape, value):
            yield InputViolation(place, f"must be {_SCALARS[shape]}, and is {value!r}")
    elif isinstance(shape, list):
        if isinstance(value, list | tuple):
            for index, item in enumerate(cast("Sequence[Any]", value)):
                yield from _of(shape[0], item, f"{place}[{index}]")
        elif isinstance(value, str | int | float | Mapping):
            yield InputViolation(place, f"must be a list, and is {value!r}")
    elif isinstance(shape, Mapping):
        yield from _of_object(cast("Mapping[str, Any]", shape), value, place)


def _of_object(shape: Mapping[str, Any], value: Any, place: str) -> Iterator[InputViolation]:
    if isinstance(value, str | int | float | list | tuple):
        yield InputViolation(place, f"must be an object, and is {value!r}")
    if not isinstance(value, Mapping):
        return
    for name, item in cast("Mapping[str, Any]", value).items():
        below = f"{place}.{name}" if place else name
        if (known := shape.get(name, shape.get("*", shape))) is not shape:
            yield from _of(known, item, below)
            continue
        near = difflib.get_close_matches(name, shape, 1, 0.8)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield InputViolation(below, f"is not an argument of the provider{hint}")


_SCALARS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def _converts(kind: str, value: Any) -> bool:
    """Whether the provider accepts a value as this type; values that are not plain data pass."""
    if isinstance(value, list | tuple | Mapping):
        return False
    if not isinstance(value, str | int | float) or kind == "string":
        return True
    if kind == "boolean":
        return str(value).lower() in _TRUTHS
    if isinstance(value, bool):
        return False
    try:
        number = float(value)
    except ValueError:
        return False
    return kind == "number" or number.is_integer()
