"""Types of an input: the small type language into which the SDK's annotations are parsed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True)
class Scalar:
    """`string`, `integer`, `number` or `boolean`."""

    kind: str


@dataclass(frozen=True, slots=True)
class StringChoice:
    """One of these strings and no other."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one shape."""

    item: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """Any keys, values of one shape."""

    item: "Shape"


@dataclass(frozen=True, slots=True)
class Anything:
    """Not checked: JSON documents, assets, unions of several objects."""


@dataclass(frozen=True, slots=True)
class Property:
    """One named input."""

    shape: "Shape"
    required: bool


@dataclass(frozen=True)
class ObjectShape:
    """An object with named properties, read from the SDK only when it is looked at."""

    name: str
    read: Callable[[], Mapping[str, Property]] = field(repr=False, compare=False)

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        """Property name, as the engine spells it, to what it may be."""
        return self.read()


Shape = Scalar | StringChoice | ListOf | MapOf | ObjectShape | Anything


def described(shape: Shape) -> str:
    """The shape in a sentence's words."""
    match shape:
        case Scalar(kind):
            return {"integer": "a whole number"}.get(kind, f"a {kind}")
        case StringChoice(values):
            return f"one of {', '.join(values)}"
        case ListOf():
            return "a list"
        case MapOf() | ObjectShape():
            return "an object"
        case _:
            return "anything"


def fits(shape: Scalar, value: Any) -> bool:
    """Whether a known scalar is of that kind.

    The bridge of both providers reads `"3"` as 3 and `"true"` as true and writes any scalar where
    a string is requested; so does this.
    """
    match shape.kind:
        case "string":
            return isinstance(value, str | bool | int | float)
        case "boolean":
            return isinstance(value, bool) or value in ("true", "false")
        case "integer":
            return _is_number(value, whole=True)
        case _:
            return _is_number(value, whole=False)


def _is_number(value: Any, *, whole: bool) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return False
    return isinstance(value, int | float) and (not whole or float(value).is_integer())
