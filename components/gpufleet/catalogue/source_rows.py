"""Lines of sources.jsonl -> the table of sources, and the source of any other line."""

from collections.abc import Iterable, Mapping
from datetime import date

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.source import Source, SourceEntry

SourceTable = Mapping[str, SourceEntry]


def source_table(rows: Iterable[RawRow]) -> FrozenDict[str, SourceEntry]:
    """All sources by key."""
    return frozen(
        {
            raw["key"]: SourceEntry(
                key=raw["key"],
                title=raw["title"],
                location=raw["location"],
                date=date.fromisoformat(raw["date"]),
                undated=raw.get("undated", False),
                notes=raw.get("notes", ""),
            )
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
