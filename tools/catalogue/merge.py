"""Facts of several sources put together: the most trusted is named, contradictions are refused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from tools.catalogue.publication import KEYS, Collected, Publication
from tools.catalogue.sources import CollectedSource
from gpufleet.catalogue.edition import RawRow
from gpufleet.findings import Finding, error

ROUNDING = Decimal("0.0005")
"""Share by which two figures of one fact may differ: lists round to four or five digits."""
NEWER_BY = timedelta(days=45)
"""A price list of higher trust that is newer by this replaces the figures of an older list."""

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Contribution:
    """A statement of one source."""

    source: CollectedSource
    publication: Publication
    collected: Collected


@dataclass(slots=True)
class Facts:
    """One row: values, and by field the source that is named for it."""

    row: RawRow
    sources: dict[str, str]


@dataclass(slots=True)
class Merged:
    """Facts by table and key, and everything that was refused."""

    tables: dict[str, dict[Key, Facts]] = field(default_factory=dict[str, "dict[Key, Facts]"])
    findings: list[Finding] = field(default_factory=list[Finding])


@dataclass(frozen=True, slots=True)
class _Statement:
    value: Any
    rank: int
    source: str
    publication: Publication


def merge(contributions: Sequence[Contribution], sold: Iterable[tuple[str, str]]) -> Merged:
    """Facts of all sources, which come in the order of trust.

    `sold`: machine type and region that are known to go together. A row in which two sources
    contradict each other is left out, with a finding that has both.
    """
    places = {*sold, *(place for one in contributions for place in one.collected.places)}
    places |= {
        (row["instance"], row["region"])
        for one in contributions
        if not one.source.everywhere
        for table in ("prices-aws", "prices-gcp")
        for row in one.collected.rows.get(table, ())
    }
    stated: dict[str, dict[Key, dict[str, list[_Statement]]]] = {}
    for rank, one in enumerate(contributions):
        for table, rows in one.collected.rows.items():
            for row in rows:
                if (
                    one.source.everywhere
                    and table.startswith("prices-")
                    and (row["instance"], row["region"]) not in places
                ):
                    continue
                key = tuple(row.get(name) for name in KEYS[table])
                fields = stated.setdefault(table, {}).setdefault(key, {})
                for name, value in row.items():
                    if name not in KEYS[table]:
                        statement = _Statement(value, rank, one.source.key, one.publication)
                        fields.setdefault(name, []).append(statement)
    merged = Merged()
    for table, keyed in stated.items():
        for key, fields in keyed.items():
            _add(merged, table, key, fields)
    return merged


def _add(merged: Merged, table: str, key: Key, fields: Mapping[str, list[_Statement]]) -> None:
    row, sources = dict(zip(KEYS[table], key, strict=True)), dict[str, str]()
    refused = False
    if row.get("buy") == "spot":
        fields = _newest(fields)
    for name, statements in fields.items():
        counting = _not_replaced(statements) if table.startswith("prices-") else statements
        first = min(counting, key=lambda one: one.rank)
        other = next((one for one in counting if not same(one.value, first.value)), None)
        if other is not None:
            merged.findings.append(_contradiction(table, key, name, first, other))
            refused = True
            continue
        row[name], sources[name] = first.value, first.source
    if not refused:
        merged.tables.setdefault(table, {})[key] = Facts(row, sources)


def _newest(fields: Mapping[str, list[_Statement]]) -> dict[str, list[_Statement]]:
    """Spot prices move from hour to hour: those of the newest source, all from the same one."""
    every = [one for statements in fields.values() for one in statements]
    best = max(every, key=lambda one: (one.publication.day, -one.rank)).source
    own = {
        name: [one for one in statements if one.source == best]
        for name, statements in fields.items()
    }
    return {name: statements for name, statements in own.items() if statements}


def _not_replaced(statements: Sequence[_Statement]) -> list[_Statement]:
    """The statements without those that a more trusted and much newer list replaces."""
    return [
        one
        for one in statements
        if not any(
            other.rank < one.rank and other.publication.day - one.publication.day > NEWER_BY
            for other in statements
        )
    ]


def same(left: object, right: object) -> bool:
    """Whether two values are of one fact, up to rounding."""
    if left == right:
        return True
    try:
        one, two = Decimal(str(left)), Decimal(str(right))
    except InvalidOperation:
        return False
    if isinstance(left, int) and isinstance(right, int):
        return False
    return abs(one - two) <= ROUNDING * max(abs(one), abs(two))


def _contradiction(
    table: str, key: Key, name: str, first: _Statement, other: _Statement
) -> Finding:
    row = " ".join(str(part) for part in key if part is not None)
    both = " and ".join(
        f"{one.value} by {one.source} {one.publication.version} of {one.publication.day}"
        for one in (first, other)
    )
    return error(
        "catalogue-contradiction",
        f"{table}.{row}.{name}",
        f"two sources contradict each other: {both}",
        "look into a third source, and write what is right into an overlay of yours",
        table=table,
        row=row,
        field=name,
        values={one.source: one.value for one in (first, other)},
    )
