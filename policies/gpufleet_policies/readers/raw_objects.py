"""Objects as they are written, for relations: rows of `rules.jsonl` name their
fields."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufleet.cluster.subject import Subject

KINDS = frozenset(
    (row["group"], row["kind"])
    for row in csv.DictReader(
        Path(__file__).with_suffix(".csv").read_text(encoding="utf-8").splitlines()
    )
)
"""Group and kind, in any version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawObject(Subject):
    """One object of these kinds."""

    document: dict[str, Any]
