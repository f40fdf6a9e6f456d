"""Errors of an object against its schema, in words for its author."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_mapping
from gpufleet.secret_text import may_be_secret

_NOUNS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
}


class SchemaProblemKind(StrEnum):
    """Kind of an error."""

    UNKNOWN = "unknown"
    """The schema has no such field."""
    NEWER = "newer"
    """The release that reads it does not have the field yet."""
    TYPE = "type"
    CHOICE = "choice"
    """The value is not one of the allowed values."""
    BOUND = "bound"
    """Too small, large, short, long, few or many."""
    PATTERN = "pattern"
    REQUIRED = "required"
    REPEATED = "repeated"
    """Two entries of a list are equal that must differ."""
    CONDITION = "condition"
    """Fields contradict each other."""
    REFUSED = "refused"
    """The code of a later release of an operator refuses it."""


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One reason why an API server refuses an object."""

    kind: SchemaProblemKind
    message: str
    fix: str | None
    steps: tuple[str | int, ...]
    """The path from the top of the object, step by step."""
    value: object = None
    """The value, if it may be shown; None if it may be a secret, and for missing fields."""
    limit: object = None
    known: tuple[str, ...] = ()
    """Existing fields at the place of an unknown field."""
    asks_for_nothing: bool = False
    """For an unknown field: whether its value is empty or false (`psp: {enabled: false}`)."""
    code: str = ""
    """Code of the rule that refuses it; empty: that of its kind."""
    since: Mapping[str, str] | None = None
    """Chart of the program that refuses it, and the first release that does; None: each."""

    @property
    def path(self) -> str:
        """The path as text: `spec.driver.enabled`."""
        return path_of(self.steps)


def wrong_type(
    document: Any,
    steps: Sequence[str | int],
    value: Any,
    types: Sequence[str],
    known: Sequence[str],
) -> tuple[str, str, str | None]:
    """Message, fix, and the value if it may be shown. `known`: fields of the required mapping."""
    name = field_name(steps)
    displayed = visible(document, steps, value)
    needed = " or ".join(_NOUNS[one] for one in types if one in _NOUNS)
    found = f"{kind_of(value)} ({displayed})" if displayed is not None else kind_of(value)
    return (
        f"{name} is {found}, {needed} is needed",
        _type_fix(name, value, types, displayed, known),
        displayed,
    )


def _type_fix(
    name: str, value: Any, types: Sequence[str], displayed: str | None, known: Sequence[str]
) -> str:
    scalar = isinstance(value, bool | int | float)
    if "string" in types and scalar:
        if isinstance(value, bool):
            return "write it in quotes: y, n, yes, no, on and off are booleans without"
        return "write it in quotes" if displayed is None else f'write "{value}" in quotes'
    if isinstance(value, str) and displayed is not None:
        if "boolean" in types and value.lower() in ("true", "false"):
            return f"write {value.lower()} without quotes"
        if types[0] in ("integer", "number") and value.strip().lstrip("+-").isdecimal():
            return f"write {value.strip()} without quotes"
    if "array" in types:
        return _list_fix(name, value, displayed)
    if "object" in types:
        if isinstance(value, bool) and "enabled" in known:
            return f"write `{name}: {{enabled: {str(value).lower()}}}`"
        if isinstance(value, str) and displayed is not None and "name" in known:
            return f"write `{name}: {{name: {value}}}`"
        return f"write `{name}: {{...}}`, or leave it out"
    only = as_mapping(value)
    if "string" in types and only is not None and list(only) == ["name"]:
        return f"write `{only['name']}`, the name alone"
    return f"write {' or '.join(_NOUNS[one] for one in types if one in _NOUNS)}"


def _list_fix(name: str, value: Any, displayed: str | None) -> str:
    mapping = as_mapping(value)
    if name == "env" and mapping is not None:
        names = ", ".join(f"{{name: {key}, value: ...}}" for key in mapping)
        return f"write `env: [{names}]`"
    if isinstance(value, str) and displayed is not None:
        return f"write `{name}: [{value}]`"
    return f"write `{name}: [...]`"


def unknown_fix(key: str, known: Sequence[str]) -> str:
    """The suggestion for a field that does not exist."""
    near = nearest_names(key, known, limit=1)
    if near:
        return f"write `{near[0]}`"
    return f"remove it; known here: {', '.join(known[:12])}" if known else "remove it"


def choice_fix(value: Any, allowed: Sequence[Any]) -> str:
    """The nearest allowed value, or all of them."""
    names = [str(one) for one in allowed if one not in ("", None)]
    near = nearest_names(value, names, limit=1) if isinstance(value, str) else ()
    return f"write `{near[0]}`" if near else f"one of {', '.join(repr(one) for one in names)}"


def path_of(steps: Iterable[str | int], path: str = "") -> str:
    """The path of some steps below `path`."""
    for step in steps:
        path = child(path, step)
    return path


def field_name(steps: Sequence[str | int]) -> str:
    """The last name of a path: `args[0]`, `enabled`."""
    index = ""
    for step in reversed(steps):
        if isinstance(step, str):
            return f"{step}{index}"
        index = f"[{step}]{index}"
    return index or "the object"


def visible(document: Any, steps: Sequence[str | int], value: Any) -> str | None:
    """The value for a message; None if it may be a secret, or is not a scalar."""
    if isinstance(value, dict | list):
        return None
    if as_mapping(document) is not None and document.get("kind") == "Secret":
        return None
    here = document
    for step in steps[:-1]:
        if isinstance(step, str) and may_be_secret(step, value):
            return None
        here = here[step]
    named = here.get("name") if isinstance(here, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    names = [str(step) for step in steps[-1:]] + ([named] if isinstance(named, str) else [])
    return None if any(may_be_secret(name, value) for name in names) else shown(value)
