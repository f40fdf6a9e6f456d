"""Source of a fact. Every row of the catalogue has one."""

from dataclasses import dataclass
from datetime import date


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
