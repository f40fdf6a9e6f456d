"""Overlay: validated rows that extend or replace those of an edition."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.source import SourceEntry


@dataclass(frozen=True, slots=True)
class Overlay:
    """Validated rows of an overlay by table of an edition."""

    rows: Mapping[str, tuple[RawRow, ...]] = field(default_factory=dict[str, tuple[RawRow, ...]])
    sources: Mapping[str, SourceEntry] = field(default_factory=dict[str, SourceEntry])
    prices: Mapping[str, tuple[RawRow, ...]] = field(default_factory=dict[str, tuple[RawRow, ...]])
    """Source -> prices of that file. They replace those of earlier files and of the edition."""
    named: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Names of all rows of a table, those with a problem included."""
