"""Tables of measured and fitted figures: CSV files in `data`, each row with where it is from."""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

REST = "*"
"""In a cell: every value without its own row above."""


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a table; lines that begin with # are comments."""
    text = (Path(__file__).parent / "data" / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if line[:1] != "#"))


@cache
def row_of(name: str, /, **wanted: str | tuple[str, ...]) -> Mapping[str, str]:
    """The first row whose cells equal the given values, or one of several, or `*`. Raises KeyError
    without one."""
    cells = {k: (REST, v) if isinstance(v, str) else (REST, *v) for k, v in wanted.items()}
    for row in table(name):
        if all(row[column] in values for column, values in cells.items()):
            return row
    raise KeyError(f"{name}.csv has no row of {wanted}")
