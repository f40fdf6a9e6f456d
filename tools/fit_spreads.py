"""Fit `planner/gpufleet_planner/data/spreads.csv`, and the rows of `reached.csv` that name this script, to the table of
published load tests.

    PYTHONPATH=components:policies:planner:. python tools/fit_spreads.py

First the parts of a peak rate that are reached: the one in `PARTS` with which the throughput of the points it changes is nearest, by
the sum of the logarithms of the factors, each at most 2.

Then the ranges. Points are divided by kind of model, then load, engine and bits of the weights, each part as long as it has `ENOUGH`
points; those of the parts that are too few are one part together. A range is the lowest and the highest time per token
(measured by computed) and inverse of throughput of its points, without the outermost fortieth on each side, and at least one of ten and more;
or what another point keeps in 95 % (Student's t, of the logarithms of the figures that are left), where that is wider, rounded
outwards. A third of the points, drawn by a hash, and the sets `slowed` and `last` are not used: `inside` counts those of their
figures that the range holds.
"""

import csv
from math import ceil, exp, floor, log, sqrt
from pathlib import Path
from statistics import NormalDist, fmean, stdev

from gpufleet_planner.sizing.serving_rates import serving_replica
from gpufleet_planner.tables import REST
from gpufleet_planner.tables import table as rows_of
from tests.planner.sizing.load_points import POINTS, LoadPoint

ENOUGH = 8
"""Minimum number of points of a part with its own range."""
TAIL = 0.025
FEW = 10
"""Figures from which on at least one is left out at each side."""
PARTS = [number / 20 for number in range(4, 17)]
DATA = Path(__file__).parent.parent / "planner/gpufleet_planner/data"
TABLE, REACHED = DATA / "spreads.csv", DATA / "reached.csv"
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


def span(fitted: list[float], points: int) -> tuple[float, float]:
    """Lowest and highest of sorted figures of a number of points."""
    cut = max(floor(len(fitted) * TAIL), int(len(fitted) >= FEW))
    left = fitted[cut : len(fitted) - cut]
    logs = [log(figure) for figure in left]
    normal = NormalDist().inv_cdf(1 - TAIL)
    student = normal + (normal**3 + normal) / (4 * (points - 1))
    reach = student * stdev(logs) * sqrt(1 + 1 / points)
    least, most = min(left[0], exp(fmean(logs) - reach)), max(left[-1], exp(fmean(logs) + reach))
    return floor(least * 50) / 50, ceil(most * 50) / 50


def rates(row: dict[str, str], part: float, points: list[LoadPoint]) -> list[float]:
    """Factors of throughput with a part of a rate, which the row has then."""
    row["part"] = f"{part:g}"
    serving_replica.cache_clear()
    return [LoadPoint(point.row).rate_by for point in points]


def far(factors: list[float]) -> float:
    """Sum of their logarithms."""
    return sum(min(abs(log(factor)), log(2)) for factor in factors)


def reached() -> str:
    """`reached.csv` with the parts that are fitted here."""
    text = REACHED.read_text(encoding="utf-8")
    fitted = [point for point in POINTS if point.mixture and not point.apart]
    for row in rows_of("reached"):
        if "tools/fit_spreads.py" not in row["source"]:
            continue
        assert isinstance(row, dict)
        before, part = ",".join([*row.values()][:8]), float(row["part"])
        pairs = zip(fitted, rates(row, part, fitted), rates(row, part / 2, fitted), strict=True)
        used = [point for point, one, other in pairs if one != other]
        best = min(PARTS, key=lambda part, row=row, used=used: far(rates(row, part, used)))
        rates(row, best, [])
        text = text.replace(before, ",".join([*row.values()][:8]))
    return text


def table() -> list[dict[str, object]]:
    """Rows of the file."""
    rows: list[dict[str, object]] = []
    for key, points in divide(list(POINTS)).items():
        fitted = sorted(figure for point in points if not point.apart for figure in figures_of(point))
        least, most = span(fitted, sum(not p.apart for p in points))
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
    REACHED.write_text(reached(), encoding="utf-8")
    TABLE.write_text(text(), encoding="utf-8")
    print(text())
