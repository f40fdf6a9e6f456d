"""Remediation: the change that fixes a finding, as a JSON patch (RFC 6902) on the checked object.

A patch is made of operations as plain mappings, ready for JSON. Its paths start at the object as it
was written: a manifest, or the properties of a Pulumi resource. Only changes that are safe without
a person are offered; changes that replace machines are only described as an alternative.
"""

import re
from collections.abc import Mapping

JsonPatch = tuple[Mapping[str, object], ...]
"""Operations of RFC 6902, in order; empty: nothing can be fixed without a person."""

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def pointer(place: str, *keys: str | int) -> str:
    """RFC 6901 pointer of a field path such as `spec.containers[0]`, and of keys below it.

    Keys with dots or slashes (`nvidia.com/gpu`) belong into `keys`, not into the path.
    """
    way = [*steps(place), *(str(key) for key in keys)]
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in way)


def steps(place: str) -> tuple[str, ...]:
    """Keys and indices of a field path such as `spec.containers[0]`, in order."""
    return tuple(index or name for index, name in _STEP.findall(place))


def add(value: object, place: str, *keys: str | int) -> Mapping[str, object]:
    """Set a field whose parent exists, whether or not it is there; `-` appends to a list."""
    return {"op": "add", "path": pointer(place, *keys), "value": value}


def replace(value: object, place: str, *keys: str | int) -> Mapping[str, object]:
    """Change a field that is there."""
    return {"op": "replace", "path": pointer(place, *keys), "value": value}


def remove(place: str, *keys: str | int) -> Mapping[str, object]:
    """Take a field away that is there."""
    return {"op": "remove", "path": pointer(place, *keys)}
