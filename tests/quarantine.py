"""Quarantined tests: a failure is printed and does not fail the run, until a date."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parent / "quarantine.toml"
KEYS = {"test", "reason", "until"}


@dataclass(frozen=True, slots=True)
class QuarantinedTest:
    """One entry of the list."""

    test: str
    """File and function, `path::function`: all parameters of the function are meant."""
    reason: str
    until: date
    """The last day on which a failure does not count."""


def read_quarantine(text: str) -> tuple[QuarantinedTest, ...]:
    """The entries of the file.

    Raises:
        ValueError: A key is missing or unknown, or a value has another type.
    """
    entries: list[dict[str, Any]] = tomllib.loads(text).get("quarantined", [])
    for entry in entries:
        if entry.keys() != KEYS:
            raise ValueError(f"an entry has the keys {sorted(KEYS)}: {entry}")
        if type(entry["until"]) is not date or not str(entry["reason"]).strip():
            raise ValueError(f"an entry has a reason, and a date as `until`: {entry}")
    return tuple(QuarantinedTest(**entry) for entry in entries)


def by_test(entries: Iterable[QuarantinedTest], today: date) -> Mapping[str, QuarantinedTest]:
    """The entries in force, by test."""
    return {entry.test: entry for entry in entries if today <= entry.until}


def mark_quarantined(items: list[pytest.Item], root: Path) -> None:
    """Mark the tests that the file lists; pytest prints their failures as expected ones."""
    in_force = by_test(read_quarantine(FILE.read_text()), datetime.now(UTC).date())
    for item in items if in_force else []:
        name = getattr(item, "originalname", item.name)
        entry = in_force.get(f"{item.path.relative_to(root).as_posix()}::{name}")
        if entry is not None:
            reason = f"quarantined until {entry.until}: {entry.reason}"
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))
