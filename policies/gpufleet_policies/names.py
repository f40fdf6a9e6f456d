"""Lists of names that readers and rules know, each a row of `names.csv` with its meaning."""

import csv
from functools import cache
from pathlib import Path


@cache
def _lists() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["list"], {})[row["name"]] = row["means"]
    return found


def meanings(of: str) -> dict[str, str]:
    """Name -> its meaning, of one list in its order; empty where the name is enough."""
    return _lists()[of]


def names(of: str) -> tuple[str, ...]:
    """The names of one list, in its order."""
    return tuple(_lists()[of])
