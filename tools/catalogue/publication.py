"""Input and output of a collector."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from pathlib import Path
from typing import Any, cast

from gpufleet.catalogue.edition import RawRow

ORIGIN = "origin.json"
"""File with the publication of a source's files."""

_SMALLEST = Decimal("0.000001")

KEYS: Mapping[str, tuple[str, ...]] = {
    "instances-aws": ("name",),
    "instances-gcp": ("name",),
    "prices-aws": ("instance", "buy", "region"),
    "prices-gcp": ("instance", "buy", "region"),
    "spot-advisor-aws": ("instance",),
    "models": ("name",),
    "charts": ("name",),
    "images": ("key",),
}
"""Table -> fields that name a row of it, as `tests/data` has them for editions."""


class UnreadableSourceError(Exception):
    """A file of a source has not the form that the source publishes."""


class CannotReachError(Exception):
    """An address gave nothing, or not everything: which one, and why."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url}: {why}" if url else why)


@dataclass(frozen=True, slots=True)
class Publication:
    """Which publication of a source the files are."""

    version: str
    """Release, commit or other name by which the files can be found again."""
    day: date
    """Day of the publication; `undated`: the day it was read."""
    undated: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """The files of one source, and which publication they are."""

    folder: Path
    publication: Publication

    def text(self, name: str) -> str:
        """A file of the source. Raises UnreadableSourceError when it is missing or no text."""
        try:
            return (self.folder / name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise UnreadableSourceError(f"{name} cannot be read: {problem}") from None

    def json(self, name: str) -> Any:
        """A JSON file of the source."""
        try:
            return json.loads(self.text(name))
        except ValueError as problem:
            raise UnreadableSourceError(f"{name} is not valid JSON: {problem}") from None

    def files(self, suffix: str) -> list[str]:
        """Names of the files with this suffix, in order."""
        names = (path.name for path in self.folder.iterdir() if path.suffix == suffix)
        return sorted(name for name in names if name != ORIGIN)


@dataclass(slots=True)
class Collected:
    """Rows of one source by table. A row has the fields that the source states, and no others."""

    rows: dict[str, list[RawRow]] = field(default_factory=dict[str, list[RawRow]])
    types: set[str] = field(default_factory=set[str])
    """Names of machine types in the source, also those without other facts."""
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Machine types and regions in which the source offers them."""

    def add(self, table: str, row: RawRow) -> None:
        """One more row; fields with None are omitted."""
        stated = {name: value for name, value in row.items() if value is not None}
        self.rows.setdefault(table, []).append(stated)


def read_stored(folder: Path) -> Stored:
    """The stored files of a source.

    Raises UnreadableSourceError when the folder does not name its publication.
    """
    stored = Stored(folder, Publication("", date.min))
    raw = cast("object", stored.json(ORIGIN))
    if not isinstance(raw, dict):
        raise UnreadableSourceError(f"{ORIGIN} is no mapping")
    origin = cast("RawRow", raw)
    try:
        day = date.fromisoformat(origin["date"])
        version = str(origin["version"])
    except (KeyError, TypeError, ValueError):
        example = '{"version": "v1.15.1", "date": "2026-10-23"}'
        message = f"{ORIGIN} must have the version and its day: {example}"
        raise UnreadableSourceError(message) from None
    return Stored(folder, Publication(version, day, bool(origin.get("undated", False))))


def figure(value: object) -> str:
    """A decimal figure without trailing zeros, at most six digits after the point."""
    try:
        number = Decimal(str(value)).quantize(_SMALLEST, ROUND_HALF_EVEN)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise UnreadableSourceError(f"{value!r} is no figure")
    return f"{number:f}".rstrip("0").rstrip(".")
