"""Remediation: the change that fixes a finding, as a JSON patch (RFC 6902) on the checked object.

A patch is a list of operations as plain mappings, ready for JSON. Its paths start at the object as
written: a manifest, or the properties of a Pulumi resource. It contains only changes that are safe
without review; changes that replace machines are described as an alternative. A patch cannot add a
missing object.
"""

import re
from collections.abc import Mapping

JsonPatch = tuple[Mapping[str, object], ...]
"""Operations of RFC 6902, in order; empty: a person must fix it."""

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def pointer(place: str, *keys: str | int) -> str:
    """RFC 6901 pointer of a field path such as `spec.containers[0]`, and of keys below it.

    Keys with dots or slashes (`nvidia.com/gpu`) go into `keys`, not into the path.
    """
    way = [*steps(place), *(str(key) for key in keys)]
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in way)


def steps(place: str) -> tuple[str, ...]:
    """Keys and indices of a field path such as `spec.containers[0]`, in order."""
    return tuple(index or name for index, name in _STEP.findall(place))


def add(value: object, place: str, *keys: str | int) -> Mapping[str, object]:
    """Set a field whose parent exists, whether or not the field exists; `-` appends to a list."""
    return {"op": "add", "path": pointer(place, *keys), "value": value}


def replace(value: object, place: str, *keys: str | int) -> Mapping[str, object]:
    """Change an existing field."""
    return {"op": "replace", "path": pointer(place, *keys), "value": value}


def remove(place: str, *keys: str | int) -> Mapping[str, object]:
    """Remove an existing field."""
    return {"op": "remove", "path": pointer(place, *keys)}
