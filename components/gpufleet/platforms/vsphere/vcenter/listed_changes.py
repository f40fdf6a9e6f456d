"""What a change of a machine's further disks or of its adapters means: lists, of which a part may
change in place and another not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def disks_need_power_off(old: Rows, new: Rows) -> bool:
    """Whether a disk goes: a guest may have it mounted."""
    return bool(_names(old) - _names(new))


def by_name(rows: Any) -> Any:
    """Disks in the order of their names: the order they are written in decides only where new ones
    are plugged in. What is no list is given back."""
    if not isinstance(rows, list):
        return rows
    listed: list[Any] = rows
    return sorted(listed, key=lambda row: str(row.get("name")) if isinstance(row, Mapping) else "")


def impossible_disks(old: Rows, new: Rows) -> str | None:
    """Why a disk cannot become what it is to be, or None."""
    before = {str(row.get("name")): row for row in old}
    wrong: list[str] = []
    for row in new:
        name = str(row.get("name"))
        if name in before:
            wrong += _impossible_disk(name, before[name], row)
    return "; ".join(wrong) or None


def adapters_need_power_off(old: Rows, new: Rows) -> bool:
    """Whether an adapter goes: there are fewer, or one is to be of another type."""
    if len(new) < len(old):
        return True
    types, wanted = (Counter(row.get("adapter") for row in rows) for rows in (old, new))
    any_will_do = wanted.pop(None, 0)
    types.pop(None, None)
    return (types - wanted).total() > any_will_do


def _names(rows: Rows) -> set[str]:
    return {str(row.get("name")) for row in rows}


def _impossible_disk(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    wrong: list[str] = []
    has, wanted = old.get("sizeGib"), new.get("sizeGib")
    if isinstance(has, int) and isinstance(wanted, int) and wanted < has:
        wrong.append(
            f"{name}: {wanted} GiB is less than the {has} GiB there are, and a disk cannot shrink: "
            f"write {has} or more, or give it another name for a new one"
        )
    fixed = (
        ("format", "thin", "is chosen when a disk is made"),
        ("datastore", None, "changes with Storage vMotion, by an administrator"),
    )
    for key, default, why in fixed:
        before, after = old.get(key, default), new.get(key, default)
        if before != after:
            wrong.append(
                f"{name}: {key} {before!r} cannot become {after!r}: it {why}. Give the disk "
                "another name for a new one"
            )
    return wrong
