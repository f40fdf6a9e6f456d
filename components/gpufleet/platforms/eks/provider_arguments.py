"""Reads arguments in a provider's spelling, complete or in part, the one who wrote them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

Arguments = Mapping[str, Any]


def number(arguments: Arguments, key: str) -> int | None:
    """A size; None where it is not written, or not known before deployment."""
    value = arguments.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def items(arguments: Arguments, key: str) -> Sequence[Any]:
    """A list; empty where it is not written, or not known before deployment."""
    value = arguments.get(key)
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def mapping(arguments: Arguments, key: str) -> Arguments:
    """A section; empty where it is not written, or not known before deployment."""
    value = arguments.get(key)
    return cast("Arguments", value) if isinstance(value, Mapping) else {}
