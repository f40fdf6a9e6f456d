# pyright: standard
"""Names of vCenter's objects in a declaration, and what they lead to: two names of one object are
the same declaration."""

from collections.abc import Mapping
from typing import Any

from gpufleet_vcenter.properties import PROPERTIES, MachineProperty

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What the engine hands on for a value it does not know yet (pulumi.runtime.rpc.UNKNOWN)."""


Objects = Mapping[str, str]
"""`<kind> <name or path>` -> vCenter's reference of the object."""


def names_of(given: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Every object that a declaration names: key in `Objects` -> kind and name."""
    listed: list[tuple[str, Any]] = []
    for one in PROPERTIES.values():
        value: Any = value_at(given, one.path)
        if one.names:
            listed.append((one.names, value))
        if one.names_in is not None:
            name, kind = one.names_in
            listed += [(kind, row.get(name)) for row in value or () if isinstance(row, Mapping)]
    return {
        f"{kind} {name}": (kind, name)
        for kind, name in listed
        if isinstance(name, str) and name != UNKNOWN
    }


def meant(one: MachineProperty, value: Any, objects: Objects) -> Any:
    """The value of a property with each name that is known as the reference of its object."""
    if one.names:
        return objects.get(f"{one.names} {value}", value)
    if one.names_in is not None and isinstance(value, list):
        name, kind = one.names_in
        rows: list[Any] = value
        return [
            {**row, name: objects.get(f"{kind} {row.get(name)}", row.get(name))}
            if isinstance(row, Mapping)
            else row
            for row in rows
        ]
    return value


def value_at(properties: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; absent and empty are both None."""
    value: Any = properties
    for part in path.split("."):
        if value == UNKNOWN:
            return UNKNOWN
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return plain_value(value)


def plain_value(value: Any) -> Any:
    """A value as it is compared."""
    if isinstance(value, tuple):
        return [plain_value(item) for item in value]
    if value in ({}, [], ""):
        return None  # absent and empty are the same wish
    return value


def has_unknown(value: Any) -> bool:
    """Whether the engine does not know some part of it yet."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value == UNKNOWN
