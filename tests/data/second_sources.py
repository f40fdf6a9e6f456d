"""Rows drawn at random and compared with a second, independent document.

python -m tests.data.second_sources SEED      the rows that a seed draws
`second_sources.jsonl` has each drawn row, the second document, and its values.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpufleet.catalogue import load

EDITION = Path(load.__code__.co_filename).parent / "data" / "2026.11"
RECORDED = Path(__file__).with_name("second_sources.jsonl")

KEYS = {
    "gpus": ("key",),
    "mig": ("gpu", "profile", "shape"),
    "instances-aws": ("name",),
    "instances-gcp": ("name",),
    "prices-aws": ("instance", "buy", "region"),
    "prices-gcp": ("instance", "buy", "region"),
    "attached-gcp": ("what", "buy"),
    "offers": ("provider", "name"),
    "models": ("name",),
    "charts": ("name",),
    "images": ("key",),
    "drivers": ("compute_capability", "branch", "cuda"),
    "transitions": ("subject", "at"),
    "features": ("program", "kind", "name"),
    "spot-advisor-aws": ("instance", "region"),
    "vgpu": ("gpu",),
}  # fmt: skip
"""Table -> the fields that name a row."""

DRAWN = {
    "gpus": 7, "mig": 8, "instances-aws": 8, "instances-gcp": 6, "prices-aws": 6, "prices-gcp": 5,
    "attached-gcp": 1, "offers": 5, "models": 6, "charts": 2, "images": 1, "drivers": 2,
    "transitions": 1, "spot-advisor-aws": 1, "vgpu": 1,
}  # fmt: skip
"""Table -> rows of one draw; by size alone, prices would be more than half."""


def rows(table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in (EDITION / f"{table}.jsonl").read_text().splitlines():
        row: dict[str, Any] = json.loads(line)
        yield "/".join(str(row[key]) for key in KEYS[table] if key in row), row


def draw(seed: int) -> list[tuple[str, str]]:
    """Table and name of each drawn row: those with the smallest hash of seed and name."""
    drawn: list[tuple[str, str]] = []
    for table, count in DRAWN.items():
        names = sorted(
            (name for name, _ in rows(table)),
            key=lambda name: hashlib.sha256(f"{seed}/{table}/{name}".encode()).digest(),
        )
        drawn += [(table, name) for name in names[:count]]
    return drawn


if __name__ == "__main__":
    for table, name in draw(int(sys.argv[1])):
        print(table, name, sep="\t")
