"""Objects as they are written, for relations: rows of `rules.jsonl` name their fields."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class RawObject(Subject):
    """One object of these kinds."""

    document: dict[str, Any]


class ReferencedObject(RawObject):
    """An object that rows read next to others: alone, it is not validated."""


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    KINDS = {
        (row["group"], row["kind"]): RawObject if row["validated"] == "yes" else ReferencedObject
        for row in csv.DictReader(_file)
    }
"""Group and kind, in any version, and the type of their facts."""
