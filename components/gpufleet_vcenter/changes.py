# pyright: standard
"""Effects of a change of inputs on a machine.

It compares the inputs of the last run (`old`, with the differences that a refresh found in vCenter
under `drifted`) and the currently declared inputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy as UpdatePolicy
from gpufleet_vcenter.errors import said
from gpufleet_vcenter.properties import (
    PROPERTIES,
    MachineChangeKind,
    Objects,
    Rows,
    has_unknown,
    meant,
    plain_value,
    value_at,
)


def by_name(rows: Any) -> Any:
    """Disks in the order of their names: the declared order decides only the slots of new disks. A
    value that is not a list is returned unchanged."""
    if not isinstance(rows, list):
        return rows
    listed: list[Any] = rows
    return sorted(listed, key=lambda row: str(row.get("name")) if isinstance(row, Mapping) else "")


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
            reason = smaller_disk(has, wanted, ANOTHER_DISK)
            wrong += [] if reason is None else [f"{name}: {reason}"]
        for key, default, why in _OF_A_NEW_DISK:
            had, has_now = before[name].get(key, default), row.get(key, default)
            if had != has_now:
                facts = {"name": name, "key": key, "before": had, "after": has_now, "why": why}
                wrong.append(said("unsupported/disk-property", **facts))
    return "; ".join(wrong) or None


@dataclass(slots=True)
class MachineDifference:
    """Differences of a live machine: parts of one reconfiguration, and impossible changes."""

    parts: dict[str, Any] = field(default_factory=dict[str, Any])
    """Attributes of its `ConfigSpec` other than devices and extra configuration."""
    devices: list[Any] = field(default_factory=list[Any])
    """Changes of devices."""
    keys: dict[str, str] = field(default_factory=dict[str, str])
    """Keys of the extra configuration that the machine needs; an empty value removes the key."""
    off: list[str] = field(default_factory=list[str])
    """Properties, with details, that change only while the machine is off."""
    refused: list[str] = field(default_factory=list[str])
    """Changes that are impossible, a sentence for each."""
    upgrade: int | None = None
    """Virtual hardware version to upgrade to first, which no reconfiguration does."""

    def differs(self, path: str) -> None:
        """Add a property that is changed as its row says."""
        if PROPERTIES[path].kind is MachineChangeKind.POWERED_OFF:
            self.off.append(path)


@dataclass(frozen=True, slots=True)
class MachineChange:
    """One property that differs."""

    path: str
    kind: MachineChangeKind
    old: Any
    new: Any

    @property
    def unknown(self) -> bool:
        """Whether the new value or a part of it is not known yet."""
        return has_unknown(self.new)


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
            before, after = by_name(before), by_name(after)
        if row.actual:
            before = value_at(old, row.actual) or before
        if row.first_boot and new.get("ignoreUserDataChanges"):
            continue
        if path == "bootSha256" and before is None:
            continue  # the state is of a time when the whole data decided
        if path == "userDataSha256" and new.get("bootSha256"):
            continue
        if (row.as_in_template and after is None) or (row.drift_only and path not in drifted):
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


def is_same_machine(
    old: Mapping[str, Any], new: Mapping[str, Any], objects: Objects | None = None
) -> bool:
    """Whether nothing makes it another machine. Its generation then stays, whatever went into the
    digest when the machine was made."""
    kinds = {change.kind for change in changes(old, new, objects)}
    return MachineChangeKind.REPLACE not in kinds


def refused(found: tuple[MachineChange, ...], policy: str) -> list[tuple[str, str]]:
    """Property and reason of each change that would fail later, before any change is made, and of
    each that would stop a machine without the permission.

    Facts that the state lacks (inputs do not contain the template's values) refuse nothing yet.
    """
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
        elif change.unknown or (PROPERTIES[change.path].actual and change.old is None):
            continue
        elif change.kind is MachineChangeKind.POWERED_OFF and policy == UpdatePolicy.REFUSE.value:
            wrong.append((change.path, _needs_power_off(change)))
    return wrong


def _ends(change: MachineChange) -> str:
    first_boot = PROPERTIES[change.path].first_boot  # its content may be secret
    row = "replacement-impossible/first-boot" if first_boot else "replacement-impossible/other"
    return said(row, change=change, word=WORD)


WORD = said("replacement-impossible/word")
"""Permission with which a change can stop running machines."""


def impossible(change: MachineChange) -> str | None:
    """Reason why this change of a machine is impossible, or None."""
    if change.unknown or (PROPERTIES[change.path].actual and change.old is None):
        return None
    if change.kind is MachineChangeKind.REFUSED:
        row = "unsupported/firmware" if change.path == "firmware" else "unsupported/change"
        return said(row, change=change, because=PROPERTIES[change.path].because)
    if change.path == "diskGib" and change.old is not None:
        return smaller_disk(change.old, change.new)
    if change.path == "extraDisks":
        return impossible_disks(_rows(change.old), _rows(change.new))
    if change.path == "hardwareVersion" and change.old is not None:
        return older_hardware(change.old, change.new)
    return None


def older_hardware(has: int, wanted: int) -> str | None:
    """Reason why a machine cannot have this version of virtual hardware, or None."""
    return None if wanted >= has else said("unsupported/hardware", has=has, wanted=wanted)


def smaller_disk(has_gib: int, wanted_gib: int, otherwise: str = "") -> str | None:
    """Reason why a disk cannot have this size, or None."""
    if wanted_gib >= has_gib:
        return None
    return said("unsupported/disk", has=has_gib, wanted=wanted_gib, otherwise=otherwise)


ANOTHER_DISK = ", or another name to get a new disk"


def _needs_power_off(change: MachineChange) -> str:
    if change.path != "extraConfig":
        return said("needs-power-off/value", change=change)
    # Its values are free text, and may be secrets.
    before: Mapping[str, Any] = change.old or {}
    after: Mapping[str, Any] = change.new or {}
    keys = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    return said("needs-power-off/keys", keys=keys)
