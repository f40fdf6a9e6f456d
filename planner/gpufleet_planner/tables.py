"""Tables of `data`: CSV files of measured and fitted figures, each row with where it is from; and
lines of output in JSON, with the facts that they need."""

import csv
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from gpufleet.models.ledger import GIB

REST = "*"
"""In a cell: every value without its own row above."""


def _read(file: str) -> str:
    return (Path(__file__).parent / "data" / file).read_text(encoding="utf-8")


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a table; lines that begin with # are comments."""
    lines = _read(f"{name}.csv").splitlines()
    return tuple(csv.DictReader(line for line in lines if line[:1] != "#"))


@cache
def row_of(name: str, /, **wanted: str | tuple[str, ...]) -> Mapping[str, str]:
    """The first row whose cells equal the given values, or one of several, or `*`; a cell may have
    several, with spaces. Raises KeyError without one."""
    cells = {k: (REST, v) if isinstance(v, str) else (REST, *v) for k, v in wanted.items()}
    for row in table(name):
        if all({row[c], *row[c].split()}.intersection(values) for c, values in cells.items()):
            return row
    raise KeyError(f"{name}.csv has no row of {wanted}")


_UNITS: Mapping[str, tuple[float, str]] = {
    "GiB": (1 / GIB, "{:.2f} GiB"),
    "GB": (1e-9, "{:,.0f} GB"),
    "GB2": (1e-9, "{:.2f} GB"),
    "T": (1e-12, "{:,.2f} T"),
    "s3": (1, "{:.3f} s"),
    "ms": (1000, "{:.1f}"),
    "ms0": (1000, "{:.0f} ms"),
    "ms1": (1000, "{:.1f} ms"),
    "ms2": (1000, "{:.2f} ms"),
    "usd": (1e-6, "{:,.4f}"),
    "usd2": (1e-6, "{:,.2f}"),
    "%": (100, "{:.1f} %"),
}
"""Unit of a figure in a row -> its size, and how it is written."""


class _Written(Formatter):
    """Facts in the texts of rows: `{speed.token_seconds:ms2}`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        size, form = _UNITS.get(format_spec, (None, ""))
        if size is None:
            return super().format_field(value, format_spec)
        return form.format(float(value or 0) * size)


WRITTEN = _Written()


@cache
def _rows(table: str) -> tuple[dict[str, Any], ...]:
    """Rows of `lines.jsonl` or `texts.jsonl`. `of`: the topic, and which of its texts. `if`: facts
    that something must be, with ! nothing. `source`: names of `sources.csv`, or texts."""
    return tuple(json.loads(line) for line in _read(f"{table}.jsonl").splitlines())


def matching(table: str, of: str, facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a topic whose conditions these facts meet."""
    for row in _rows(table):
        found = row["of"] == of and all(
            bool(WRITTEN.get_field(name.lstrip("!"), (), facts)[0]) is (name[0] != "!")
            for name in row.get("if", "").split()
        )
        if found:
            yield row


def texts(of: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """Lines of the output of a command, with these facts."""
    return (WRITTEN.vformat(row["text"], (), facts) for row in matching("texts", of, facts))
