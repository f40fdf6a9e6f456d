"""Feature gates and chart values by release of a program: lines of features.jsonl."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.source import Source
from gpufleet.catalogue.source_rows import SourceTable, sourced

Release = tuple[int, ...]
"""Numbers of a release, in order: (0, 5, 0)."""


class FeatureKind(StrEnum):
    """Kind of a row of the table."""

    GATE = "gate"
    """A feature gate."""
    VALUE = "value"
    """A value of the program's chart, as a dotted path."""
    FIELD = "field"
    """A field of an API that needs a gate: the server drops the field while the gate is off."""
    LIMIT = "limit"
    """Maximum number of entries of a list of an API."""
    VERSION = "version"
    """A version of the program's own API, `kueue.x-k8s.io/v1beta1`."""
    OPTION = "option"
    """A command line option of a model server, without its hyphens."""
    LINE = "line"
    """A line of releases with another numbering: `name` is as `since`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A gate or value of a program, with the releases that have it."""

    program: str
    """Name of its chart; `kubernetes` for Kubernetes itself."""
    kind: str
    """A `FeatureKind`."""
    name: str
    since: str
    """First release that has it."""
    on: bool = False
    """Whether a gate is on by default in that release."""
    changed: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Later releases that changed the default, oldest first."""
    gone: str | None = None
    """First release without it; None: no release removed it."""
    locked: str | None = None
    """First release in which a gate cannot be changed: a program does not start with it changed."""
    gate: str = ""
    """For a field: the gate without which the server drops it."""
    limit: int = 0
    """For a limit: the maximum number of entries."""
    source: Source

    def is_in(self, release: Release) -> bool:
        """Whether a release has it."""
        gone = self.gone is not None and release >= numbers(self.gone)
        return not gone and release >= numbers(self.since)

    def is_on(self, release: Release) -> bool:
        """Whether it is on by default in a release."""
        on = self.on
        for later, changed in self.changed.items():
            if release >= numbers(later):
                on = changed
        return on

    @property
    def on_since(self) -> str | None:
        """First release in which it is on by default; None: in no release."""
        stages = {self.since: self.on, **self.changed}
        return next((release for release, on in stages.items() if on), None)


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Known features and release lines of one program."""

    gates: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    values: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    lines: Mapping[Release, Release] = field(default_factory=dict[Release, Release])
    fields: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    limits: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    versions: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    options: Mapping[str, Feature] = field(default_factory=dict[str, Feature])

    def in_order(self, release: Release) -> Release:
        """The release in the numbering of the table: 25.12.0 of the DRA driver is as 0.3.0."""
        line = self.lines.get(release[:2])
        return release if line is None else (*line, *release[2:])

    def gates_of(self, release: Release) -> dict[str, bool]:
        """Every gate of a release and whether it is on by default."""
        at = self.in_order(release)
        return {name: one.is_on(at) for name, one in self.gates.items() if one.is_in(at)}

    def changes_after(self, release: Release) -> bool:
        """Whether something in the table differs in a later patch release of the same minor."""
        tables = (self.gates, self.values, self.fields, self.limits, self.versions)
        rows = (row for table in tables for row in table.values())
        steps = (at for row in rows for at in (row.since, row.gone, row.locked, *row.changed) if at)
        at = self.in_order(release)
        return any(numbers(step)[:2] == at[:2] and numbers(step) > at for step in steps)

    def newer_values(self, release: Release) -> dict[str, str]:
        """Values that a release does not have yet, with the first release that has each."""
        at = self.in_order(release)
        return {name: one.since for name, one in self.values.items() if at < numbers(one.since)}


NO_FEATURES = FeatureTable()


def feature_tables(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, FeatureTable]:
    """All tables by program."""
    named: dict[str, dict[str, dict[str, Feature]]] = {}
    lines: dict[str, dict[Release, Release]] = {}
    for raw in rows:
        row = sourced(Feature, raw, sources)
        if row.kind == FeatureKind.LINE:
            lines.setdefault(row.program, {})[numbers(row.name)] = numbers(row.since)
        else:
            kinds = named.setdefault(row.program, {})
            kinds.setdefault(f"{row.kind}s", {})[row.name] = row
    return frozen(
        {
            name: FeatureTable(**named.get(name, {}), lines=lines.get(name, {}))
            for name in dict.fromkeys((*named, *lines))
        }
    )


@lru_cache(maxsize=10_000)
def numbers(release: str) -> Release:
    """The numbers of a release: `v26.7.0`, `0.5`; for a release line, `0.4.x`, of its first."""
    first = re.sub(r"\.[xX*]", ".0", release.partition("-")[0])
    return tuple(int(part) for part in re.findall(r"[0-9]+", first))
