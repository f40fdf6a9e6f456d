# pyright: standard
"""Facts of each property of a machine, from the table `properties.csv`; references of vCenter's
objects by the names in a declaration: two names of one object are the same declaration; and the
effects of a change of inputs on a machine.

A change compares the inputs of the last run (`old`, with the differences that a refresh found in
vCenter under `drifted`) and the currently declared inputs.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_snake

from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy as UpdatePolicy
from gpufleet_vcenter.errors import said

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
    compared: str
    """`value`: it is one value with the same name in `NodeSettings` and `Observed`; empty: it is
    not."""
    written: str
    """Attribute of vCenter's `ConfigSpec` that such a value is written to; empty: it is not written
    alone, or not at all."""
    names: str
    """Kind of vCenter's object that it names; empty: it does not name an object."""
    names_in: str
    """For a list of rows: the field with the name; empty: it is the name."""
    flags: str
    """`template`: without a declaration it is the template's value, and later the machine's.
    `drift`: it is not declared, and vCenter or the cluster shows it (all memory is always reserved,
    a machine always runs, its firmware is the one its guest was installed under, and its node is
    Ready). `firstBoot`: a guest reads it once, and `ignoreUserDataChanges` leaves its changes
    alone."""
    actual: str
    """Output with the machine's value, declared or not; empty: no such output."""
    because: str
    """Reason why its change is refused."""

    def left_alone(self, new: Mapping[str, Any]) -> bool:
        """Whether these inputs let it differ: first-boot data that is to be ignored, or whose
        digest without expiring parts decides."""
        ignored = "firstBoot" in self.flags and bool(new.get("ignoreUserDataChanges"))
        return ignored or (self.path == "userDataSha256" and bool(new.get("bootSha256")))

    def takes_away(self, old: Rows, new: Rows) -> bool:
        """Whether a change of a device list removes a device, which needs the machine off."""
        if self.path == "extraDisks":
            names = [{str(row.get("name")) for row in rows} for rows in (old, new)]
            return bool(names[0] - names[1])  # a guest may have the disk mounted
        if self.path != "place.networks":
            return False
        # An adapter goes where there are fewer, or one gets another type. A function of the host
        # is not added, moved or removed either while the machine runs.
        functions = [
            sorted(str(row.get("network")) for row in rows if row.get("adapter") == "sriov")
            for rows in (old, new)
        ]
        types, wanted = (Counter(row.get("adapter") for row in rows) for rows in (old, new))
        any_will_do = wanted.pop(None, 0)
        types.pop(None, None)
        others = (types - wanted).total() > any_will_do
        return others or len(new) < len(old) or functions[0] != functions[1]


with Path(__file__).with_name("properties.csv").open(encoding="utf-8") as _file:
    PROPERTIES: Mapping[str, MachineProperty] = {
        row["path"]: MachineProperty(**{**row, "kind": MachineChangeKind(row["kind"])})
        for row in csv.DictReader(_file)
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
        if row.compared:
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


_OF_A_NEW_DISK = (
    ("format", "thin", "is chosen when a disk is made"),
    ("datastore", None, "changes with Storage vMotion, by an administrator"),
)
"""Properties of a further disk that do not change, their defaults, and why."""


def impossible_disks(old: Rows, new: Rows) -> str | None:
    """Reason why a disk cannot be changed as declared, or None."""
    before = {str(row.get("name")): row for row in old}
    wrong: list[str] = []
    for row in new:
        name = str(row.get("name"))
        if name not in before:
            continue
        has, wanted = before[name].get("sizeGib"), row.get("sizeGib")
        if isinstance(has, int) and isinstance(wanted, int):
            reason = shrinks(DISK, has, wanted, ANOTHER_DISK)
            wrong += [] if reason is None else [f"{name}: {reason}"]
        for key, default, why in _OF_A_NEW_DISK:
            had, has_now = before[name].get(key, default), row.get(key, default)
            if had != has_now:
                facts = {"name": name, "key": key, "before": had, "after": has_now, "why": why}
                wrong.append(said("unsupported/disk-property", **facts))
    return "; ".join(wrong) or None


@dataclass(frozen=True, slots=True)
class MachineChange:
    """One property that differs."""

    path: str
    kind: MachineChangeKind
    old: Any
    new: Any

    @property
    def unknown(self) -> bool:
        """Whether a part of the new value is not known yet, or the machine's value is not: inputs
        do not contain the template's values."""
        return has_unknown(self.new) or bool(PROPERTIES[self.path].actual and self.old is None)


def changes(
    old: Mapping[str, Any], new: Mapping[str, Any], objects: Objects | None = None
) -> tuple[MachineChange, ...]:
    """Every property of the table (`PROPERTIES`) that differs, in the table's order.

    Args:
        old: Inputs or outputs of before.
        new: Inputs.
        objects: References of the names of both: two names of one object do not differ. Default:
            names are compared as texts.
    """
    objects = objects or {}
    found: list[MachineChange] = []
    drifted: Mapping[str, Any] = old.get("drifted") or {}
    for path, row in PROPERTIES.items():
        before, after, kind = value_at(old, path), value_at(new, path), row.kind
        if path == "extraDisks":
            # The declared order decides only the slots of new disks.
            before, after = (
                sorted(rows, key=lambda row: str(isinstance(row, Mapping) and row.get("name")))
                if isinstance(rows, list)
                else rows
                for rows in (before, after)
            )
        if row.actual:
            before = value_at(old, row.actual) or before
        if row.left_alone(new):
            continue
        if after is None and "template" in row.flags:
            continue
        if path not in drifted and "drift" in row.flags:
            continue
        if path in drifted:
            before = plain_value(drifted[path])
        elif before == after:
            continue
        elif meant(row, before, objects) == meant(row, after, objects):
            kind = MachineChangeKind.SETTING  # another name of the same object
        if not has_unknown(after) and row.takes_away(_rows(before), _rows(after)):
            kind = MachineChangeKind.POWERED_OFF
        found.append(MachineChange(path, kind, before, after))
    return tuple(found)


def _rows(value: Any) -> Rows:
    return value if isinstance(value, list) else ()


def replaces(found: tuple[MachineChange, ...], policy: str) -> list[str]:
    """Properties whose change recreates the machine."""
    also = policy == UpdatePolicy.REPLACE.value
    return [
        change.path
        for change in found
        if change.kind is MachineChangeKind.REPLACE
        or (also and change.kind is MachineChangeKind.POWERED_OFF)
    ]


def refused(found: tuple[MachineChange, ...], policy: str) -> list[tuple[str, str]]:
    """Property and reason of each change that would fail later, before any change is made, and of
    each that would stop a machine without the permission. What is not known refuses nothing yet."""
    replaced = replaces(found, policy)
    if replaced and policy != UpdatePolicy.REPLACE.value:
        ends = (one for one in found if one.path in replaced and not one.unknown)
        return [(one.path, _ends(one)) for one in ends if one.path != "nodeReady"]
    if replaced:
        return []
    wrong: list[tuple[str, str]] = []
    for change in found:
        reason = impossible(change)
        if reason is not None:
            wrong.append((change.path, reason))
        elif policy == UpdatePolicy.REFUSE.value and not change.unknown:
            off = change.kind is MachineChangeKind.POWERED_OFF
            wrong += [(change.path, _needs_power_off(change))] if off else []
    return wrong


def _ends(change: MachineChange) -> str:
    first_boot = "firstBoot" in PROPERTIES[change.path].flags  # its content may be secret
    row = "replacement-impossible/first-boot" if first_boot else "replacement-impossible/other"
    return said(row, change=change, word=WORD)


WORD = said("replacement-impossible/word")
"""Permission with which a change can stop running machines."""


def impossible(change: MachineChange) -> str | None:
    """Reason why this change of a machine is impossible, or None."""
    if change.unknown:
        return None
    if change.kind is MachineChangeKind.REFUSED:
        row = "unsupported/firmware" if change.path == "firmware" else "unsupported/change"
        return said(row, change=change, because=PROPERTIES[change.path].because)
    if change.path == "extraDisks":
        return impossible_disks(_rows(change.old), _rows(change.new))
    row = {"diskGib": DISK, "hardwareVersion": HARDWARE}.get(change.path)
    return shrinks(row, change.old, change.new) if row and change.old is not None else None


def shrinks(row: str, has: int, wanted: int, otherwise: str = "") -> str | None:
    """Reason why a disk cannot have this size in GiB, or a machine this version of virtual
    hardware, or None.

    Args:
        row: Text of the reason.
        has: Present value.
        wanted: Declared value.
        otherwise: What else the user may write. Default: nothing.
    """
    return None if wanted >= has else said(row, has=has, wanted=wanted, otherwise=otherwise)


DISK, HARDWARE = "unsupported/disk", "unsupported/hardware"
"""Texts of what only grows."""
ANOTHER_DISK = ", or another name to get a new disk"


def _needs_power_off(change: MachineChange) -> str:
    if change.path != "extraConfig":
        return said("needs-power-off/value", change=change)
    # Its values are free text, and may be secrets.
    before: Mapping[str, Any] = change.old or {}
    after: Mapping[str, Any] = change.new or {}
    keys = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    return said("needs-power-off/keys", keys=keys)
