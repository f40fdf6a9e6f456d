"""Paths into a document, as findings print them: `mig-configs.all-1g[0].mig-devices["1g.5gb"]`."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from gpufleet.documents.shapes import as_list, as_mapping, is_list, is_mapping

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def child(path: str, step: str | int) -> str:
    """The path of one entry of the mapping or list at `path`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if _PLAIN_KEY.fullmatch(step):
        return f"{path}.{step}" if path else step
    quoted = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{quoted}"]'


def value_at(
    document: Any,
    path: str | tuple[str, ...],
    *,
    absent: Any = None,
    unreadable: Any = None,
    opened: Callable[[Any], Any] | None = None,
) -> Any:
    """The value at a dotted path of mappings.

    Args:
        document: Plain data.
        path: Keys with dots between them, or keys.
        absent: The answer where a key is not written, or is below null.
        unreadable: The answer where the path leads through something that is not a mapping.
        opened: What a value that is not a mapping is read as, before the path leads on.
    """
    here = document
    for key in _keys(path):
        if type(here) is not dict:
            here = here if opened is None else opened(here)
            if here is None:
                return absent
            if not isinstance(here, Mapping):
                return unreadable
        here = cast("Mapping[str, Any]", here).get(key, absent)
    return here


@lru_cache(maxsize=1000)
def _keys(path: str | tuple[str, ...]) -> Sequence[str]:
    return path.split(".") if isinstance(path, str) else path


Steps = tuple[str | int, ...]


def values_at(value: Any, path: str | tuple[str, ...]) -> list[tuple[Steps, Any]]:
    """Every value at a dotted path, or at keys, with its steps; `[]` is each entry of a list, `{}`
    each value of a mapping."""
    found: list[tuple[Steps, Any]] = [((), value)]
    for name, entries in _parts(path):
        below: list[tuple[Steps, Any]] = []
        for steps, here in found:
            if not is_mapping(here) or name not in here:
                continue
            held: Any = here[name]
            if not entries:
                below.append(((*steps, name), held))
            elif entries == "[]" and is_list(held):
                below += [((*steps, name, at), one) for at, one in enumerate(held)]
            elif entries == "{}" and is_mapping(held):
                below += [((*steps, name, key), one) for key, one in held.items()]
        if not below:
            return []
        found = below
    return found


@lru_cache(maxsize=1000)
def _parts(path: str | tuple[str, ...]) -> list[tuple[str, str]]:
    """The keys of a path, each with `[]`, `{}` or nothing after it."""
    keys = path.split(".") if isinstance(path, str) and path else path
    names = [(key.removesuffix("[]").removesuffix("{}"), key) for key in keys]
    return [(name, key[len(name) :]) for name, key in names]


def at_steps(document: Any, steps: Iterable[str | int]) -> Any:
    """The value at these keys and indexes, all of which are there."""
    for step in steps:
        document = document[step]
    return document


def text_at(document: Any, path: str) -> str:
    """The text at a dotted path, empty for anything else."""
    found = value_at(document, path)
    return found if isinstance(found, str) else ""


def mapping_at(document: Any, path: str) -> dict[str, Any]:
    """The mapping at a dotted path, empty for anything else."""
    return as_mapping(value_at(document, path)) or {}


def items_at(document: Any, path: str) -> list[tuple[str, Any]]:
    """Place and value of each item of the list at a dotted path."""
    found = as_list(value_at(document, path)) or []
    return [(child(path, index), item) for index, item in enumerate(found)]


def entries_at(document: Any, path: str) -> list[tuple[str, dict[str, Any]]]:
    """The same of the items that are mappings."""
    found = [(place, as_mapping(item)) for place, item in items_at(document, path)]
    return [(place, item) for place, item in found if item is not None]
