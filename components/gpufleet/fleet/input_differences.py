"""Differences between two sets of inputs of a resource, path by path."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, cast

from gpufleet.catalogue.provider_inputs import of_type
from gpufleet.fleet.leaf_class import LeafClass

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class InputDifference:
    """One changed input."""

    path: str
    old: object
    """None: the input does not exist."""
    new: object
    leaf_class: LeafClass
    refusal: str = ""
    """Why the provider refuses it, and the setting that allows it; empty: it is allowed, or the
    reason is not known."""


def differing(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Path, old and new value of every difference. A block that appears or disappears is one
    difference, and so is a list of plain values."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        one, two = cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
        for key in dict.fromkeys((*one, *two)):
            below = f"{path}.{key}" if path else key
            yield from differing(one.get(key), two.get(key), below)
    elif _of_blocks(old) and _of_blocks(new):
        pairs = zip_longest(cast("list[Any]", old), cast("list[Any]", new))
        for i, (before, after) in enumerate(pairs):
            yield from differing(before, after, f"{path}[{i}]")
    else:
        yield path, old, new


def plain(path: str) -> str:
    """The path without list indexes."""
    return _INDEX.sub("", path)


def within(path: str, heads: Iterable[str]) -> bool:
    """Whether a path is one of the others or below it."""
    return any(path == head or path.startswith(f"{head}.") for head in heads)


def replaces(token: str, path: str, old: object, new: object) -> bool:
    """Whether the provider replaces the resource for it, by the catalogue's rows of the provider.

    A row with `value` applies to everything below its path, a row with `block` to the block itself.
    A block that appears or disappears with such an input in it counts as that input.
    """
    block = old is None or new is None
    rows = [row for row in of_type(token) if row.replaces is not None]
    if any(row.path == path and (row.replaces == "value" or block) for row in rows):
        return True
    if any(row.replaces == "value" and path.startswith(f"{row.path}.") for row in rows):
        return True
    inside = {f"{path}.{plain(key)}" for key in _paths(new if old is None else old)}
    return block and any(row.path in inside for row in rows)


def _paths(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, one in cast("Mapping[str, object]", value).items():
            below = f"{path}.{key}" if path else key
            yield below
            yield from _paths(one, below)
    elif isinstance(value, list | tuple):
        for one in cast("list[object]", value):
            yield from _paths(one, path)


def _of_blocks(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, Mapping) for one in cast("list[Any]", value)
    )
