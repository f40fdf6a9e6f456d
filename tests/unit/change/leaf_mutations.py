"""Every leaf of a declaration, changed: made from the JSON Schema of the FleetSpec alone."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

SAMPLES: Mapping[str, tuple[Any, ...]] = {
    "catalogue": (),  # there is one edition
    "catalogueOverlay": (),  # a file
    "region": ("us-west-2", "europe-west4"),
    "kubernetesVersion": ("1.35", "1.37", "1.34"),
    "version": ("v26.3.0", "1.2.3"),
    "releaseVersion": ("1.36.0-20261001",),
    "amiId": ("ami-0123456789abcdef0",),
    "instanceTypes": (["g6.12xlarge"], ["g2-standard-8"]),
    "zones": (["us-east-1a"], ["us-central1-a"]),
    "capacity": ([{"spot": {}}], [{"onDemand": {}}], [{"onPrem": {"usdPerGpuHour": "2"}}]),
    "taints": ([{"key": "example.com/t", "effect": "NoExecute"}],),
    "gpu": ("L4", "A100-80GB", "H100-80GB"),
    "image": ("ubuntu", "bottlerocket-nvidia", "cos", "al2023-nvidia"),
}
"""Values that a generated one would not hit, by name of the field."""
TEXTS = ("other", "1", "10m", "a.b/c", "https://charts.example.com", "us-east-1a", "pd-ssd", "2x2")


def mutations(schema: dict[str, Any], data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and whole declaration, one for each value tried in each leaf."""
    for path, value in _walk(schema, schema, data, ()):
        changed = copy.deepcopy(data)
        place: Any = changed
        for step in path[:-1]:
            place = place[step] if isinstance(place, list) else place.setdefault(step, {})
        place[path[-1]] = value
        yield ".".join(str(step) for step in path), changed


def _walk(
    schema: dict[str, Any], part: dict[str, Any], data: Any, path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    part = _resolved(schema, part)
    if "properties" in part:
        for name, rule in part["properties"].items():
            here = data.get(name) if isinstance(data, dict) else None
            yield from _walk(schema, rule, here, (*path, name))
        return
    if path == ("pools",):
        for number, one in enumerate(data):
            yield from _walk(schema, part["items"], one, (*path, number))
        return
    if not path:
        return
    name = path[-1]
    for value in SAMPLES.get(name, tuple(_values(schema, part, data))):
        if value != data:
            yield path, value


def _resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        return _resolved(schema, schema["$defs"][part["$ref"].rsplit("/", 1)[1]])
    for one in part.get("anyOf", ()):
        if one.get("type") != "null":
            return _resolved(schema, one)
    return part


def _values(schema: dict[str, Any], part: dict[str, Any], data: Any) -> Iterator[Any]:
    kind = part.get("type")
    if "enum" in part:
        yield from part["enum"]
    elif kind == "boolean":
        yield from (True, False)
    elif kind in {"integer", "number"}:
        low = part.get("minimum", part.get("exclusiveMinimum", 0))
        yield from {low, low + 1, (data if isinstance(data, int) else 20) + 1}
    elif kind == "string":
        yield from TEXTS
    elif kind == "array":
        inner = _resolved(schema, part.get("items", {}))
        if inner.get("type") == "string":
            yield from ([text] for text in TEXTS)
        elif inner.get("type") == "integer":
            yield [inner.get("minimum", 0)]
    elif kind == "object":
        yield from ({"example.com/key": "other"}, {"key": "other"}, {"KEY": "other"})
