"""Changes of an edition by collected facts, by table, row and field."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from gpufleet.catalogue.catalogue import Catalogue
from tools.catalogue.merge import NEWER_BY, Contribution, Facts, Key, Merged, same
from tools.catalogue.publication import KEYS, figure
from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.instance import MICRO_USD, AWS
from gpufleet.catalogue.lookup import UnknownKeyError
from gpufleet.catalogue.software_rows import shape_of_config
from gpufleet.catalogue.source import Source
from gpufleet.catalogue.source_rows import source_of
from gpufleet.catalogue.transitions import ordinal


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that the sources state otherwise than the edition."""

    field: str
    before: Any
    """None: the edition does not have it."""
    after: Any
    source: str


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row that is new, or differs."""

    table: str
    key: Key
    row: RawRow
    """Facts of the sources, over those of the edition; for a price none of the edition."""
    fields: tuple[FieldChange, ...]
    added: bool


@dataclass(slots=True)
class Difference:
    """Everything that differs."""

    changes: list[RowChange] = field(default_factory=list[RowChange])
    missing: list[Key] = field(default_factory=list[Key])
    """Table and key of prices that their own source has no longer. The edition's row stays."""
    unknown_types: dict[str, str] = field(default_factory=dict[str, str])
    """Accelerated machine types that the edition lacks and without a new row -> the reason."""
    behind: list[RowChange] = field(default_factory=list[RowChange])
    """Charts with a newer release than the pin. A pin moves after its values were read again."""


def difference(
    catalogue: Catalogue, merged: Merged, contributions: Sequence[Contribution]
) -> Difference:
    """Changes of the edition."""
    found = Difference()
    fresh = _new_types(catalogue, merged, found)
    days = {one.source.key: one.publication.day for one in contributions}
    for table, facts in merged.tables.items():
        rows = _known_rows(catalogue, table)
        refused = {key[:2] for key, row in rows.items() if row.get("offer") == "not-sold"}
        for key, one in facts.items():
            priced = table.startswith(("prices-", "spot-advisor-"))
            if priced and key[0] not in catalogue.instances and key[0] not in fresh:
                continue
            # A list also has prices that no buyer can get.
            if key[:2] in refused:
                continue
            change = _change(table, key, rows.get(key), one, days)
            if change is None or (change.added and not priced and key[0] not in fresh):
                continue
            if table != "charts":
                found.changes.append(change)
            elif ordinal(change.fields[0].after) > ordinal(change.fields[0].before):
                found.behind.append(change)
        if table.startswith("prices-"):
            found.missing += [(table, *key) for key in _missing(table, rows, contributions)]
    known = {*catalogue.instances, *fresh, *found.unknown_types}
    accelerated = _accelerated(catalogue)
    for one in contributions:
        for name in one.collected.types - known:
            if accelerated.match(name):
                found.unknown_types.setdefault(name, "no source states what it carries")
    return found


def _new_types(catalogue: Catalogue, merged: Merged, found: Difference) -> set[str]:
    """Machine types that the edition lacks and the sources state in full, given their GPU."""
    fresh: set[str] = set()
    for key, one in merged.tables.get("instances-aws", {}).items():
        name, row = key[0], one.row
        carries = row.get("accelerator")
        if name in catalogue.instances or carries is None:
            continue
        lacking = [field for field in ("architecture", "vcpu", "memory_gib", "count")
                   if field not in row]  # fmt: skip
        try:
            row["gpu"] = catalogue.find_gpu(carries).key
        except UnknownKeyError as problem:
            found.unknown_types[name] = str(problem)
            continue
        if lacking:
            found.unknown_types[name] = f"no source states {', '.join(lacking)}"
            continue
        row["family"] = name.partition(".")[0]
        one.sources["gpu"] = one.sources["family"] = one.sources["accelerator"]
        fresh.add(name)
    return fresh


def _missing(
    table: str, rows: Mapping[Key, RawRow], contributions: Sequence[Contribution]
) -> list[Key]:
    """Prices of the edition that their own source has no longer, though it has the region."""
    gone: list[Key] = []
    for one in contributions:
        stated = {
            tuple(row[name] for name in KEYS[table]) for row in one.collected.rows.get(table, ())
        }
        regions = {key[2] for key in stated}
        gone += [
            key
            for key, row in rows.items()
            if row["source"] in one.source.rows_of
            and row["offer"] == "priced"
            and key[2] in regions
            and key not in stated
        ]
    return gone


def _accelerated(catalogue: Catalogue) -> re.Pattern[str]:
    """Prefixes of names of accelerated types on AWS, by the known ones."""
    rows = (row for row in catalogue.instances.values() if row.cloud == AWS)
    begins = sorted({re.sub(r"\d.*", "", row.family) for row in rows})
    return re.compile(rf"({'|'.join(begins)})\d[a-z0-9-]*\.")


def _known_rows(catalogue: Catalogue, table: str) -> dict[Key, RawRow]:
    """The rows of a table, those of an overlay included, each with its day."""
    if not table.startswith("prices-"):
        return {
            tuple(row.get(name) for name in KEYS[table]): {
                **(shape_of_config(row["config"]) if table == "models" else {}),
                **row,
                "day": _day(source_of(row, catalogue.sources), catalogue),
            }
            for row in catalogue.rows(table)
        }
    prices = catalogue.prices[table.removeprefix("prices-")]
    return {
        (*key, price.region): {
            "usd": _dollars(price.micro_usd_per_hour),
            "usd_high": _dollars(price.high_micro_usd_per_hour),
            "offer": price.offer.value,
            "source": price.source.key,
            "day": _day(price.source, catalogue),
        }
        for key, known in prices.items()
        for price in known
    }


def _day(source: Source, catalogue: Catalogue) -> date:
    """The day of a row; one that bears none is taken to be older than the day it was read."""
    entry = catalogue.sources.get(source.key)
    return source.date - NEWER_BY if entry is not None and entry.undated else source.date


def _dollars(micro: int | None) -> str | None:
    return None if micro is None else figure(Decimal(micro) / MICRO_USD)


def _change(
    table: str, key: Key, row: RawRow | None, facts: Facts, days: Mapping[str, date]
) -> RowChange | None:
    """Changes of a row; None without any. A fact older than the row changes nothing."""
    known: Mapping[str, Any] = row or {}
    day = known.get("day", date.min)
    fields = tuple(
        FieldChange(name, known.get(name), value, facts.sources[name])
        for name, value in facts.row.items()
        if name in facts.sources
        and name in _COMPARED[table]
        and days[facts.sources[name]] >= day
        and not same(known.get(name), value)
    )
    if not fields:
        return None
    if table.startswith("prices-"):
        return RowChange(table, key, facts.row, fields, row is None)
    stated = {one.field: one.after for one in fields}
    own = dict(zip(KEYS[table], key, strict=True))
    return RowChange(table, key, {**own, **known, **stated}, fields, row is None)


_SHAPE = (
    "family", "gpu", "architecture", "vcpu", "memory_gib", "count", "api_count", "network_gbps",
    "network_cards", "efa_interfaces", "local_nvme_gb",
)  # fmt: skip
_PRICE = ("usd", "usd_high")
_COMPARED: Mapping[str, tuple[str, ...]] = {
    "instances-aws": _SHAPE,
    "instances-gcp": ("vcpu", "memory_gib"),
    "prices-aws": _PRICE,
    "prices-gcp": _PRICE,
    "spot-advisor-aws": ("region", "interruption", "saving_percent"),
    "models": ("layers", "hidden", "query_heads", "kv_heads", "head_dim", "intermediate",
               "vocabulary", "tied_embeddings", "experts", "experts_per_token", "latent_kv",
               "latent_rope"),
    "charts": ("version",),
    "images": ("driver_branch",),
}  # fmt: skip
"""Fields of a table that collectors state in the edition's sense."""
