"""How far published load tests are from what is computed, by what is served.

`spreads.csv` holds the ranges. `tools/fit_spreads.py` writes it from `tests/data/load_points.csv`,
of which a third, drawn by a hash, is kept out of the fit.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.formats import WeightFormat

REST = "*"
"""Of a row: what has no row of its own."""
WIDE = 2.5
"""Highest by lowest time from which a range is too wide to buy by."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Lowest and highest time per token under load, as parts of the computed one; throughput: the
    inverse. Nine of ten figures of the points that it is fitted to are inside."""

    least: float
    most: float
    points: int
    """Published load tests that it is fitted to."""

    @property
    def note(self) -> str:
        """One sentence where the spread is too wide to buy by."""
        if self.most / self.least <= WIDE:
            return ""
        return f"{self.points} load tests alike are public: measure before you buy"


@cache
def spreads() -> dict[tuple[str, ...], Spread]:
    """Kind of model, load, engine and bits of the weights -> the spread; `*` is the rest."""
    with Path(__file__).with_name("spreads.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["kind"], row["load"], row["engine"], row["bits"]): Spread(
                float(row["least"]), float(row["most"]), int(row["points"])
            )
            for row in csv.DictReader(file)
        }


ServedKind = tuple[str, str, str]
"""`dense` or `mixture`, the engine, and the bits of the weights: `16`, `8` or `4`."""


def kind_of(model: Architecture, engine: InferenceEngine, weights: WeightFormat) -> ServedKind:
    """What is served, as `spreads.csv` divides it. Bits are of a matrix element, without scales."""
    size = float(weights.bytes_per_parameter)
    bits = "16" if size > 1.5 else "8" if size > 0.75 else "4"
    return "mixture" if model.is_mixture else "dense", engine.value, bits


def spread_of(kind: ServedKind, *, burst: bool = False) -> Spread:
    """That of a steady load, or of prompts that come all at once. What has no row of its own is of
    the rest at its place."""
    of, *others = kind
    wanted = (of, "burst" if burst else "steady", *others)
    keys = ((*wanted[:depth], *[REST] * (4 - depth)) for depth in range(4, -1, -1))
    table = spreads()
    return next(table[key] for key in keys if key in table)
