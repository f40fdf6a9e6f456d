"""Custom resources of an operator, alone or in a List, and those that must not select one node."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping

Objects = Sequence[tuple[str, dict[str, Any]]]
"""Path and object."""


def objects_of(document: Mapping[str, Any], kinds: Collection[str]) -> Objects | None:
    """Every custom resource; None if the document is not one of these kinds and not a List."""
    if document.get("kind") in kinds:
        return [("", dict(document))]
    items = as_list(document.get("items"))
    if document.get("kind") != "List" or items is None:
        return None
    found = [(child("items", i), as_mapping(item)) for i, item in enumerate(items)]
    return [(path, item) for path, item in found if item is not None]


def share_nodes(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether every node of one selector is surely a node of the other."""
    return _within(one, other) or _within(other, one)


def _within(narrow: Mapping[str, Any], wide: Mapping[str, Any]) -> bool:
    return all(key in narrow and narrow[key] == value for key, value in wide.items())
