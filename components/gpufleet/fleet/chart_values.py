"""Helm values as data: Helm's merge, values from dotted keys, and differences."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

Values = dict[str, Any]


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """Helm's own merge: mappings key by key, everything else replaced, null removes a key."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(below, Mapping):
            result[key] = merged(cast("Mapping[str, Any]", below), cast("Mapping[str, Any]", value))
        else:
            result[key] = value
    return result


def nested(pairs: Iterable[tuple[str, Any]]) -> Values:
    """Values from dotted keys."""
    result: Values = {}
    for key, value in pairs:
        at = result
        *parents, last = key.split(".")
        for part in parents:
            at = at.setdefault(part, {})
        at[last] = value
    return result


def leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is not a mapping, by dotted key."""
    for key, value in values.items():
        place = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping):
            yield from leaves(cast("Mapping[str, Any]", value), place)
        else:
            yield place, value


def environment(variables: Mapping[str, str]) -> list[dict[str, str]]:
    """Environment variables as a container lists them, by name."""
    return [{"name": name, "value": value} for name, value in sorted(variables.items())]
