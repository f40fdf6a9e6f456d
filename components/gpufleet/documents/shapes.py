"""The shape of plain data, as the type checker can follow it: mappings, lists, and their leaves."""

from collections.abc import Callable
from typing import Any, TypeGuard, cast


def is_mapping(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether the value is a mapping. Keys are text, as readers of documents give them."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether the value is a list."""
    return isinstance(value, list)


def as_mapping(value: Any) -> dict[str, Any] | None:
    """The value as a mapping with text keys; None: another type."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """The value as a list; None: another type."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty mapping."""
    return value if is_mapping(value) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if is_list(value) else []


def known_texts(value: Any) -> dict[str, str]:
    """The entries of a mapping whose values are text."""
    return {key: item for key, item in mapping(value).items() if isinstance(item, str)}


def rewritten(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of plain data in which `change` replaces each value, outer values first.

    `change` returns its argument for a value that stays. What it returns is read on.
    """
    value = change(value)
    if is_mapping(value):
        return {key: rewritten(item, change) for key, item in value.items()}
    if is_list(value):
        return [rewritten(item, change) for item in value]
    return value
