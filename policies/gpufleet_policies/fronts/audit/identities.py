"""One object for each identity: the same kind, namespace and name in two files of a cluster.

Applying the second file changes the first one's object. Often they are alternatives. So each file
is validated as if it were the applied one, with its own objects instead of their twins; money
counts once, in the later file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpufleet.cluster import FleetFacts, UncompiledFleet

Key = tuple[str, str, str, str]
Placed = tuple[int, Any]
"""Position of a reading, and one of its facts."""

_NOT_OBJECTS = frozenset({"Values", "Config", "Release", "Text", "?"})
"""Kinds of locators of what is not an object of a cluster."""


def key_of(fact: Any) -> Key | None:
    """Identity of an object in a cluster; None for other documents and objects without a name."""
    where = fact.locator
    if where.urn or where.kind in _NOT_OBJECTS or isinstance(fact, FleetFacts | UncompiledFleet):
        return None
    if not where.file or not where.name or where.name.endswith(("-", "(unnamed)")):
        return None
    return where.kind, where.namespace, where.name, where.cluster


def twins(facts: Iterable[Placed]) -> dict[Key, list[int]]:
    """Identity -> positions of the readings that have an object with it, in order; only where
    several have one."""
    found: dict[Key, dict[int, None]] = {}
    for index, fact in facts:
        key = key_of(fact)
        if key is not None:
            found.setdefault(key, {})[index] = None
    return {key: list(places) for key, places in found.items() if len(places) > 1}


def chosen(
    facts: Sequence[Placed], found: Mapping[Key, Sequence[int]], at: int | None
) -> tuple[Any, ...]:
    """The facts with one object for each identity: that of a reading where it has one, else the
    last."""
    taken = {key: at if at in places else places[-1] for key, places in found.items()}
    return tuple(
        fact for index, fact in facts if (key := key_of(fact)) not in taken or taken[key] == index
    )


def shadowed(
    facts: Sequence[Placed], found: Mapping[Key, Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Identity of each fact whose object is written again later, and position of that reading."""
    for index, fact in facts:
        key = key_of(fact)
        if key is not None and key in found and found[key][-1] != index:
            yield id(fact), found[key][-1]
