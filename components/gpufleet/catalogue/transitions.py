"""Breaking changes between two versions: lines of transitions.jsonl."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.source import Source
from gpufleet.catalogue.source_rows import SourceTable, sourced


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One thing that breaks when a version is reached or passed."""

    subject: str
    """A chart, `driver`, `kubernetes`, or the key of a node image."""
    at: str
    """First version that breaks it; for node images the release, or the key of another image."""
    breaks: str
    first: str
    """Action before the change."""
    source: Source
    fixed: str | None = None
    """First version in which the problem is fixed."""
    driver: bool = False
    """Only where the GPU Operator installs the driver."""
    switches: str | None = None
    """Value of the chart: only where the same change switches it on."""
    platform: str | None = None
    """Platform on which it applies; None: all platforms."""

    def applies(self, old: str, new: str) -> bool:
        """Whether a change from version `old` to `new` reaches or passes it."""
        if self.fixed is not None and ordinal(new) >= ordinal(self.fixed):
            return False
        return ordinal(old) < ordinal(self.at) <= ordinal(new)


def ordinal(version: str) -> tuple[int, ...]:
    """Numbers of a version, in order: `v25.10.0`, `1.36`, `20250224`."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", version.partition("+")[0]))


def transition_table(
    rows: Iterable[RawRow], sources: SourceTable
) -> Mapping[str, tuple[Transition, ...]]:
    """Subject -> its breaking changes, in the order of the file."""
    found: dict[str, list[Transition]] = {}
    for raw in rows:
        found.setdefault(raw["subject"], []).append(sourced(Transition, raw, sources))
    return {subject: tuple(rows) for subject, rows in found.items()}
