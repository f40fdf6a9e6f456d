# pyright: standard
"""Facts of each property of a machine, from the table `properties.csv`; and references of vCenter's
objects by the names in a declaration: two names of one object are the same declaration."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_snake

Rows = Sequence[Mapping[str, Any]]


class MachineChangeKind(Enum):
    """Effect of a changed property on the machine."""

    REPLACE = "replace"
    """The machine is replaced."""
    POWERED_OFF = "poweredOff"
    """The machine is changed in place while it is off."""
    IN_PLACE = "inPlace"
    """The machine is changed in place while it runs."""
    REFUSED = "refused"
    """This resource cannot change it."""
    SETTING = "setting"
    """Only the provider's behaviour changes: vCenter is not called."""


@dataclass(frozen=True, slots=True)
class MachineProperty:
    """One property of a machine."""

    path: str
    """Name of the input."""
    kind: MachineChangeKind
    """Effect of its change."""
    read: str
    """vCenter's path of the property; empty: no single property of the machine has it."""
    plain: str | None
    """If it is one value with the same name in `NodeSettings` and `Observed`: the attribute of
    vCenter's `ConfigSpec` that it is written to; empty: it is not written alone, or not at all (`-`
    in the table). None: it is not such a value."""
    names: str
    """Kind of vCenter's object that it names; empty: it does not name an object."""
    names_in: str
    """For a list of rows: the field with the name; empty: it is the name."""
    as_in_template: bool
    """Default: the template's value, and later the machine's value."""
    drift_only: bool
    """Whether it is not declared, and vCenter or the cluster shows it: all memory is always
    reserved, a machine always runs, its firmware is the one its guest was installed under, and its
    node is Ready."""
    first_boot: bool
    """Whether a guest reads it once: `ignoreUserDataChanges` leaves its changes alone."""
    actual: str
    """Output with the machine's value, declared or not; empty: no such output."""
    because: str
    """Reason why its change is refused."""

    def takes_away(self, old: Rows, new: Rows) -> bool:
        """Whether a change of a device list removes a device, which needs the machine off."""
        if self.path == "extraDisks":
            names = [{str(row.get("name")) for row in rows} for rows in (old, new)]
            return bool(names[0] - names[1])  # a guest may have the disk mounted
        return self.path == "place.networks" and _adapters_need_power_off(old, new)


def _property(row: Mapping[str, str]) -> MachineProperty:
    field, _, kind = row["names"].rpartition("/")
    flags = row["flags"].split()
    return MachineProperty(
        row["path"],
        MachineChangeKind(row["change"]),
        row["read"],
        row["plain"].removeprefix("-") if row["plain"] else None,
        kind,
        field,
        "template" in flags,
        "drift" in flags,
        "firstBoot" in flags,
        row["actual"],
        row["because"],
    )


def _adapters_need_power_off(old: Rows, new: Rows) -> bool:
    """Whether an adapter is removed: there are fewer, or one gets another type; or a function of
    the host is added, moved or removed."""
    functions = [
        sorted(str(row.get("network")) for row in rows if row.get("adapter") == "sriov")
        for rows in (old, new)
    ]
    if len(new) < len(old) or functions[0] != functions[1]:
        return True
    types, wanted = (Counter(row.get("adapter") for row in rows) for rows in (old, new))
    any_will_do = wanted.pop(None, 0)
    types.pop(None, None)
    return (types - wanted).total() > any_will_do


with Path(__file__).with_name("properties.csv").open(encoding="utf-8") as _file:
    PROPERTIES: Mapping[str, MachineProperty] = {
        row["path"]: _property(row) for row in csv.DictReader(_file)
    }
"""Properties by path. Other properties are not compared, because they change by themselves (host,
addresses, change version)."""


def plain_differences(settings: Any, live: Any) -> Mapping[str, Any]:
    """Plain values of a machine that differ from the declaration, by path.

    Args:
        settings: `NodeSettings`; undeclared values are None.
        live: `Observed`.
    """
    found: dict[str, Any] = {}
    for row in PROPERTIES.values():
        if row.plain is not None:
            name = to_snake(row.path)
            wanted, has = getattr(settings, name), getattr(live, name)
            if wanted is not None and wanted != has:
                found[row.path] = has
    return found


UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Value that the engine passes for an unknown value (pulumi.runtime.rpc.UNKNOWN)."""


Objects = Mapping[str, str]
"""`<kind> <name or path>` -> vCenter's reference of the object."""


def names_of(given: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Every object that a declaration names: key in `Objects` -> kind and name."""
    listed: list[tuple[str, Any]] = []
    for one in PROPERTIES.values():
        value: Any = value_at(given, one.path) if one.names else None
        rows = (value or ()) if one.names_in else ({"": value},)
        found = (row.get(one.names_in) for row in rows if isinstance(row, Mapping))
        listed += [(one.names, name) for name in found]
    return {
        f"{kind} {name}": (kind, name)
        for kind, name in listed
        if isinstance(name, str) and name != UNKNOWN
    }


def meant(one: MachineProperty, value: Any, objects: Objects) -> Any:
    """The value of a property with each name that is known as the reference of its object."""
    kind, name = one.names, one.names_in
    if not name:
        return objects.get(f"{kind} {value}", value) if kind else value
    rows: list[Any] = value if isinstance(value, list) else []
    return [
        {**row, name: objects.get(f"{kind} {row.get(name)}", row.get(name))}
        if isinstance(row, Mapping)
        else row
        for row in rows
    ] or value


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
    """A value in the form for comparison."""
    if isinstance(value, tuple):
        return [plain_value(item) for item in value]
    if value in ({}, [], ""):
        return None  # absent and empty are the same wish
    return value


def has_unknown(value: Any) -> bool:
    """Whether a part of it is still unknown to the engine."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value == UNKNOWN
