"""Fit `planner/gpufleet_planner/data/spreads.csv` to the table of published load tests.

    PYTHONPATH=components:policies:planner:. python tools/fit_spreads.py

Points are divided by kind of model, then load, engine and bits of the weights, each part as long as it has `ENOUGH`
points; those of the parts that are too few are one part together. A range is the lowest and the highest time per token
(measured by computed) and inverse of throughput of its points, without the outermost fortieth on each side, and at least one of ten and more, rounded
outwards. A third of the points, drawn by a hash, and all of the set `2026` are not used: `inside` counts those of their
figures that the range holds.
"""

import csv
from math import ceil, floor
from pathlib import Path

from gpufleet_planner.tables import REST
from tests.planner.sizing.load_points import POINTS, LoadPoint

ENOUGH = 8
"""Minimum number of points of a part with its own range."""
TAIL = 0.025
FEW = 10
"""Figures from which on at least one is left out at each side."""
TABLE = Path(__file__).parent.parent / "planner/gpufleet_planner/data/spreads.csv"
HEAD = ("kind", "load", "engine", "bits", "least", "most", "points", "apart", "figures_apart", "inside")


def parts_of(point: LoadPoint) -> tuple[str, ...]:
    """Kind, load, engine, bits."""
    of, engine, bits = point.replica.kind
    return of, "burst" if point.burst else "steady", engine, bits


def figures_of(point: LoadPoint) -> list[float]:
    """Time per token and inverse of throughput, measured by computed."""
    token = point.by("token_ms")
    return [1 / point.rate_by, *([] if token is None else [token])]


def divide(points: list[LoadPoint], key: tuple[str, ...] = ()) -> dict[tuple[str, ...], list[LoadPoint]]:
    """Points by their row of the table."""
    depth = len(key)
    if depth == 4:
        return {key: points}
    found: dict[str, list[LoadPoint]] = {}
    for point in points:
        found.setdefault(parts_of(point)[depth], []).append(point)
    large = {name: some for name, some in found.items() if sum(not p.apart for p in some) >= ENOUGH}
    rest = [point for name, some in found.items() if name not in large for point in some]
    rows: dict[tuple[str, ...], list[LoadPoint]] = {}
    for name, some in sorted(large.items()):
        rows |= divide(some, (*key, name))
    fitted = sum(not p.apart for p in rest)
    # A kind or load that is not in the table has no row: both are closed sets.
    if rest or depth > 1:
        # If the rest has too few points, all points together give its range.
        rows[(*key, *[REST] * (4 - depth))] = rest if fitted >= ENOUGH else points
    return rows


def table() -> list[dict[str, object]]:
    """Rows of the file."""
    rows: list[dict[str, object]] = []
    for key, points in divide(list(POINTS)).items():
        fitted = sorted(figure for point in points if not point.apart for figure in figures_of(point))
        cut = max(floor(len(fitted) * TAIL), int(len(fitted) >= FEW))
        least, most = fitted[cut], fitted[len(fitted) - 1 - cut]
        least, most = floor(least * 50) / 50, ceil(most * 50) / 50
        apart = [point for point in points if point.apart]
        figures = [figure for point in apart for figure in figures_of(point)]
        inside = sum(least <= figure <= most for figure in figures)
        counts = (sum(not p.apart for p in points), len(apart), len(figures), inside)
        rows.append(dict(zip(HEAD, (*key, f"{least:.2f}", f"{most:.2f}", *counts), strict=True)))
    return rows


def text() -> str:
    """The file."""
    lines = [",".join(HEAD), *(",".join(str(row[name]) for name in HEAD) for row in table())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8")
    print(text())
