"""Lines of sources.jsonl -> the table of sources; any other line -> its row, with its source."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date
from functools import cache
from typing import Any, TypeVar, cast

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.source import Source, SourceEntry

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
