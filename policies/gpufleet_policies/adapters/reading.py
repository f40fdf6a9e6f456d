"""Reading fields of plain data as facts: path by path, any wrong type reads as unknown."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from gpufleet_policies.facts.tristate import (
    UNKNOWN,
    Fact,
    Provenance,
    absent,
    known,
    unknown,
)

T = TypeVar("T")


def at(document: Any, path: str) -> Any:
    """The plain value under a dotted path: None when absent, UNKNOWN when it cannot be read."""
    found = document
    for key in path.split("."):
        if found is UNKNOWN:
            return UNKNOWN
        if not isinstance(found, Mapping):
            return None if found is None else UNKNOWN
        found = found.get(key)
    return found


def mapping(value: Any) -> dict[str, Any]:
    """The value when it is a mapping, else nothing."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value when it is a list, else nothing."""
    return value if isinstance(value, list) else []


def fact(
    value: Any,
    convert: Callable[[Any], T | None],
    place: str,
    provenance: Provenance = Provenance.EXPLICIT,
) -> Fact[T]:
    """A fact about a plain value; what `convert` answers None for cannot be judged: unknown."""
    if value is None:
        return absent(place, provenance)
    if value is UNKNOWN:
        return unknown(place, provenance)
    converted = convert(value)
    return unknown(place, provenance) if converted is None else known(converted, provenance, place)


def text(value: Any) -> str | None:
    """Text, unless it holds a placeholder somebody's template tool fills in later."""
    if not isinstance(value, str) or "${" in value or "{{" in value:
        return None
    return value


def whole(value: Any) -> int | None:
    """A whole number, also when written as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    return None


def boolean(value: Any) -> bool | None:
    """True or false."""
    return value if isinstance(value, bool) else None


def decimal(value: Any) -> Decimal | None:
    """A finite number, also when written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def words(value: Any) -> tuple[str, ...] | None:
    """A list of texts; None when one of them is not known."""
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return None
    return tuple(value)
