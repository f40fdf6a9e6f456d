"""Sources of facts: the table of sources.jsonl; any other line -> its row, with its source."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from typing import Any, TypeVar, cast

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import FrozenDict, frozen


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a row: an entry of the edition's source table and the date of the fact."""

    key: str
    """Key of the edition's table of sources (`Catalogue.sources`), or `overlay:<file>`."""
    date: date
    """Day the fact is from: that of the publication or price list, else the day it was read
    (`SourceEntry.undated` tells which)."""
    also: tuple[str, ...] = ()
    """Further entries of the table the row rests on."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One document or data file that rows of the edition were taken from."""

    key: str
    title: str
    location: str
    """Repository or publisher, version or commit, path: enough to find the text again."""
    date: date
    undated: bool = False
    """The source itself bears no date: `date` is the day it was read."""
    notes: str = ""


SourceTable = Mapping[str, SourceEntry]
Fact = TypeVar("Fact")


def source_table(rows: Iterable[RawRow]) -> FrozenDict[str, SourceEntry]:
    """All sources by key."""
    return frozen(
        {
            raw["key"]: fact_of(SourceEntry, raw, date=date.fromisoformat(raw["date"]))
            for raw in rows
        }
    )


def source_of(raw: RawRow, sources: SourceTable) -> Source:
    """The source of a line: its own date where it has one, else that of the entry it names.

    Raises KeyError when the table has no such entry: a data test keeps that from happening.
    """
    entry = sources[raw["source"]]
    day = date.fromisoformat(raw["date"]) if "date" in raw else entry.date
    return Source(entry.key, day, tuple(raw.get("also", ())))


def sourced(kind: type[Fact], raw: RawRow, sources: SourceTable, **own: Any) -> Fact:
    """`fact_of` with the source of the line."""
    return fact_of(kind, raw, source=source_of(raw, sources), **own)


def fact_of(kind: type[Fact], raw: RawRow, **own: Any) -> Fact:
    """The row of a line whose keys are called as the fields: lists are tuples in it, and mappings
    cannot be changed. What the line leaves out has the field's default. `own`: fields that the line
    writes otherwise."""
    written = {name: _kept(raw[name]) for name in _names(kind) if name in raw}
    return kind(**(written | own))


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return frozen(cast("dict[str, Any]", value))
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value
