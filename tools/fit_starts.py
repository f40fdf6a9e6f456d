"""Fit `planner/gpufleet_planner/data/rooms.csv` to the table of public starts of engines.

    PYTHONPATH=components:policies:planner:. python tools/fit_starts.py

Starts are divided by one GPU or a group, kind of model and engine, each part as long as it has `ENOUGH` starts; those of
the parts that are too few are one part together. The doubt of a part is the most memory that one of its starts took
besides what is computed, rounded outwards: the smaller of one in GiB and one as a part of the GPU's memory, as each holds
for all of them. A third of the starts, drawn by a hash, those on DGX Spark and those written down later are not used:
`inside` counts those of the third whose room is not below the worst one.
"""

from math import ceil
from pathlib import Path

from gpufleet_planner.tables import REST
from tests.planner.sizing.measurements import GIB
from tests.planner.sizing.test_starts_of_2026 import LATER, SHARED, STARTS, Start

ENOUGH = 8
"""Minimum number of starts of a part with its own doubt."""
KEYS = ("gpus", "kind", "engine")
HEAD = (*KEYS, "gib", "part", "points", "apart", "inside")
TABLE = Path(__file__).parent.parent / "planner/gpufleet_planner/data/rooms.csv"
POINTS = [one for one in STARTS[:LATER] if one.measured_gib and one.row["gpu"] not in SHARED]


def more_gib(start: Start) -> float:
    """Memory that a start took besides what is computed; negative: it took less."""
    return start.room.cache_bytes / GIB - start.measured_gib


def divide(points: list[Start], key: tuple[str, ...] = ()) -> dict[tuple[str, ...], list[Start]]:
    """Starts by their row of the table."""
    depth = len(key)
    if depth == len(KEYS):
        return {key: points}
    found: dict[str, list[Start]] = {}
    for start in points:
        found.setdefault(start.kind[KEYS[depth]], []).append(start)
    large = {name: some for name, some in found.items() if sum(not s.kept_out for s in some) >= ENOUGH}
    rows: dict[tuple[str, ...], list[Start]] = {}
    for name, some in sorted(large.items()):
        rows |= divide(some, (*key, name))
    rest = [start for name, some in found.items() if name not in large for start in some]
    if depth:
        # If the rest has too few starts, all together give its doubt.
        fitted = sum(not start.kept_out for start in rest)
        rows[(*key, *[REST] * (len(KEYS) - depth))] = rest if fitted >= ENOUGH else points
    return rows


def doubt(points: list[Start]) -> tuple[float, float]:
    """Most GiB, and largest part of the GPU's memory."""
    fitted = [start for start in points if not start.kept_out]
    gib = max(map(more_gib, fitted))
    part = max(more_gib(start) * GIB / start.usable_bytes for start in fitted)
    return ceil(gib * 20) / 20, ceil(part * 1000) / 1000


def table() -> list[dict[str, object]]:
    """Rows of the file."""
    rows: list[dict[str, object]] = []
    for key, points in divide(POINTS).items():
        gib, part = doubt(points)
        apart = [start for start in points if start.kept_out]
        inside = sum(more_gib(s) <= min(gib, part * s.usable_bytes / GIB) for s in apart)
        counts = (len(points) - len(apart), len(apart), inside)
        rows.append(dict(zip(HEAD, (*key, f"{gib:g}", f"{part:g}", *counts), strict=True)))
    return rows


def text() -> str:
    """The file."""
    lines = [",".join(HEAD), *(",".join(str(row[name]) for name in HEAD) for row in table())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8")
    print(text())
