"""Fit `planner/gpufleet_planner/data/spreads.csv`, and the rows of `reached.csv` that name this script, to the table of
published load tests.

    PYTHONPATH=components:policies:planner:. python tools/fit_spreads.py

First the parts of a peak rate that are reached, and the microseconds of a layer: the one in `TRIED` with which the throughput of the
points it changes is nearest, by the sum of the logarithms of the factors, each at most 2. The rows are searched in turn until none changes,
from the lowest and from the highest of what is tried: a row that the two searches find different is an error.

Then the ranges. Points are divided by kind of model, then load, engine and bits of the weights, each part as long as it has `ENOUGH`
reports; those of the parts that are too few are one part together. Load tests of one report (a source, an engine, a model, a format, a
GPU, a tensor group) are wrong by the same cause, so that each report has one weight, however many points it has. A range is what another
report keeps in 95 %: Student's t of the logarithms of time per token (measured by computed) and inverse of throughput, without the
outermost `TAIL` of the weight on each side; of dense models, where that is wider than `WIDE`, that width around the median. It is
rounded outwards. A third of the points, drawn by a hash, and the sets `slowed`, `final` and `after` are not used: `inside` counts those
of the third that the range holds.
"""

import csv
from collections import Counter
from itertools import accumulate
from math import ceil, exp, floor, log, sqrt
from pathlib import Path
from statistics import NormalDist

from gpufleet_planner.sizing.serving_rates import serving_replica
from gpufleet_planner.sizing.throughput import WIDE
from gpufleet_planner.tables import REST
from gpufleet_planner.tables import table as rows_of
from tests.planner.sizing.load_points import NOT_FITTED, POINTS, LoadPoint

ENOUGH = 12
"""Minimum number of reports of a part with its own range."""
TAIL = 0.025
_PARTS = [number / 20 for number in range(4, 17)]
TRIED = {"prefill": _PARTS, "decode": _PARTS, "layer": [5.0 * number for number in range(21)]}
"""What is tried for each figure of `reached.csv`."""
DATA = Path(__file__).parent.parent / "planner/gpufleet_planner/data"
TABLE, REACHED = DATA / "spreads.csv", DATA / "reached.csv"
HEAD = ("kind", "load", "engine", "bits", "least", "most", "points", "reports", "apart", "figures_apart", "inside")


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
    large = {name: some for name, some in found.items() if reports(some) >= ENOUGH}
    rest = [point for name, some in found.items() if name not in large for point in some]
    rows: dict[tuple[str, ...], list[LoadPoint]] = {}
    for name, some in sorted(large.items()):
        rows |= divide(some, (*key, name))
    # A kind or load that is not in the table has no row: both are closed sets.
    if rest or depth > 1:
        # If the rest has too few reports, all points together give its range.
        rows[(*key, *[REST] * (4 - depth))] = rest if reports(rest) >= ENOUGH else points
    return rows


def reports(points: list[LoadPoint]) -> int:
    """Reports of the points that are fitted."""
    return len({point.report for point in points if not point.apart})


def span(points: list[LoadPoint], narrow: bool) -> tuple[float, float]:
    """Lowest and highest figure that another report keeps in 95 %; `narrow`: at most `WIDE`."""
    fitted = [point for point in points if not point.apart]
    number = Counter(point.report for point in fitted)
    logs = sorted(
        (log(figure), 1 / number[point.report] / len(figures))
        for point in fitted
        for figures in [figures_of(point)]
        for figure in figures
    )
    whole, passed, left = len(number), 0.0, list[tuple[float, float]]()
    for figure, weight in logs:
        if TAIL * whole <= passed + weight / 2 <= (1 - TAIL) * whole:
            left.append((figure, weight))
        passed += weight
    weights = sum(weight for _, weight in left)
    mean = sum(figure * weight for figure, weight in left) / weights
    variance = sum((figure - mean) ** 2 * weight for figure, weight in left) / weights
    normal = NormalDist().inv_cdf(1 - TAIL)
    student = normal + (normal**3 + normal) / (4 * (whole - 1))
    reach = student * sqrt(variance * (1 + 1 / whole) * whole / (whole - 1))
    low, high = mean - reach, mean + reach
    if narrow and high - low > log(WIDE):
        passed = accumulate(weight for _, weight in logs)
        middle = next(f for (f, _), sum_ in zip(logs, passed, strict=True) if sum_ >= whole / 2)
        side = exp(log(WIDE) / 2)
        return ceil(exp(middle) / side * 50) / 50, floor(exp(middle) * side * 50) / 50
    return floor(exp(low) * 50) / 50, ceil(exp(high) * 50) / 50


def rates(row: dict[str, str], part: float, points: list[LoadPoint]) -> list[float]:
    """Factors of throughput with a part of a rate, which the row has then."""
    row["part"] = f"{part:g}"
    serving_replica.cache_clear()
    return [LoadPoint(point.row).rate_by for point in points]


def far(factors: list[float]) -> float:
    """Sum of their logarithms."""
    return sum(min(abs(log(factor)), log(2)) for factor in factors)


def search(rows: list[tuple[dict[str, str], list[LoadPoint]]], start: int) -> list[float]:
    """The part of each row that brings its points nearest. All begin with the first or the last that is tried, and
    are searched in turn until none changes."""
    found = [TRIED[row["figure"]][start] for row, _ in rows]
    before: list[float] = []
    for (row, _), part in zip(rows, found, strict=True):
        rates(row, part, [])
    while found != before:
        before = list(found)
        for place, (row, used) in enumerate(rows):
            found[place] = min(TRIED[row["figure"]], key=lambda part, row=row, used=used: far(rates(row, part, used)))
            rates(row, found[place], [])
    return found


def reached() -> str:
    """`reached.csv` with the parts that are fitted here. Raises ValueError for one that the search finds from one start
    and not from another: the points do not determine it."""
    text = REACHED.read_text(encoding="utf-8")
    fitted = [point for point in POINTS if not point.apart]
    rows: list[tuple[dict[str, str], list[LoadPoint]]] = []
    lines: list[str] = []
    for row in rows_of("reached"):
        if "tools/fit_spreads.py" not in row["source"]:
            continue
        assert isinstance(row, dict)
        lines.append(cells(row))
        part, ends = float(row["part"]), TRIED[row["figure"]]
        pairs = zip(fitted, rates(row, ends[0], fitted), rates(row, ends[-1], fitted), strict=True)
        rows.append((row, [point for point, one, other in pairs if one != other]))
        rates(row, part, [])
    low, high = search(rows, 0), search(rows, -1)
    for line, (row, _), one, other in zip(lines, rows, low, high, strict=True):
        if one != other:
            raise ValueError(f"{line}: {one:g} from one start, {other:g} from another")
        text = text.replace(line, cells(row))
    return text


def cells(row: dict[str, str]) -> str:
    """What begins the row's line in the file."""
    return ",".join([*row.values()][:8])


def table() -> list[dict[str, object]]:
    """Rows of the file."""
    rows: list[dict[str, object]] = []
    for key, points in divide([point for point in POINTS if point.row["set"] not in NOT_FITTED]).items():
        least, most = span(points, key[0] == "dense")
        apart = [point for point in points if point.apart]
        figures = [figure for point in apart for figure in figures_of(point)]
        inside = sum(least <= figure <= most for figure in figures)
        fitted = len(points) - len(apart)
        counts = (fitted, reports(points), len(apart), len(figures), inside)
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
