"""Pictures of Grafana dashboards: each panel in its place, drawn from Prometheus' answers.

Grafana itself is not part of the project, so this draws its kinds of panels that the dashboards
use, with their units, thresholds, stacking and legends: `stat`, `timeseries`, `bargauge`, `table`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.unit.render.dashboard_queries import query_of

COLUMN, LINE, GAP = 50, 30, 6
"""Pixels of one of Grafana's 24 columns, of one unit of height, and between two panels."""
COLOURS = ("#3274d9", "#56a64b", "#e0b400", "#a352cc", "#e02f44", "#37872d", "#ff780a", "#8f3bb8")
THRESHOLDS = {"green": "#37872d", "orange": "#e55400", "red": "#c4162a"}
SHOWN = 5
"""Maximum number of rows in a legend. The number of the others is written below them."""
FILLED = 8
"""Maximum number of lines in a panel whose areas are filled."""
LETTER = 6.2
"""Pixels of one letter of 11 pixels in height, on average."""
Panel = dict[str, Any]
Answer = list[dict[str, Any]]
Found = list[tuple[dict[str, Any], dict[str, Any]]]
"""The target and one of its results."""
Day = tuple[int, int]


@dataclass(frozen=True)
class Box:
    """Where a panel draws, in pixels."""

    x: float
    y: float
    width: float
    height: float


def draw(
    dashboard: dict[str, Any],
    ask: Callable[[str], Answer],
    ask_range: Callable[[str], Answer],
    day: Day,
    file: Path,
) -> list[str]:
    """Write an SVG of a day, given as its first and last second.

    Returns the titles of the panels without a result.
    """
    bottom = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in dashboard["panels"])
    width, height = 24 * COLUMN, bottom * LINE + 40
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="Inter, Helvetica, Arial, sans-serif" font-size="11">'
    )
    parts = [
        head,
        '<rect width="100%" height="100%" fill="#f4f5f5"/>',
        _text(10, 26, dashboard["title"], size=18, weight=600),
    ]
    silent: list[str] = []
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        x, y = at["x"] * COLUMN, at["y"] * LINE + 40
        if panel["type"] == "row":
            parts.append(_text(x + 10, y + 20, panel["title"], size=14, weight=600))
            continue
        box = Box(x + GAP / 2, y, at["w"] * COLUMN - GAP, at["h"] * LINE - GAP)
        parts.append(
            f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" '
            'fill="#fff" stroke="#d8d9da" rx="2"/>'
        )
        parts.append(_text(box.x + 10, box.y + 19, panel["title"], size=12, weight=600))
        inside = Box(box.x + 10, box.y + 28, box.width - 20, box.height - 36)
        over_time = panel["type"] in ("timeseries", "stat")
        found = [
            (target, result)
            for target in panel["targets"]
            for result in (ask_range if over_time else ask)(query_of(target))
        ]
        if found:
            parts += DRAWN[panel["type"]](panel, found, inside, day)
        else:
            silent.append(panel["title"])
            middle = box.x + box.width / 2
            parts.append(
                _text(middle, box.y + box.height / 2 + 8, "No data", anchor="middle", size=14)
            )
    file.write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")
    return silent


def _stat(panel: Panel, found: Found, box: Box, day: Day) -> Iterator[str]:
    """The last value in the colour of its threshold, over the course of the day."""
    defaults = panel["fieldConfig"]["defaults"]
    points = _points(found[0][1])
    value = points[-1][1]
    steps = [
        s for s in defaults["thresholds"]["steps"] if s["value"] is None or value >= s["value"]
    ]
    colour = THRESHOLDS[steps[-1]["color"]]
    top = max(v for _, v in points) or 1
    low = Box(box.x - 10, box.y + box.height * 0.55, box.width + 20, box.height * 0.45 + 7)
    line = " ".join(
        f"{_across(time, day, low):.1f},{low.y + low.height * (1 - v / top):.1f}"
        for time, v in points
    )
    edge = low.y + low.height
    yield (
        f'<polygon points="{low.x},{edge} {line} {low.x + low.width},{edge}" '
        f'fill="{colour}" opacity="0.15"/>'
    )
    middle = box.x + box.width / 2
    shown = amount(value, defaults["unit"])
    yield _text(middle, box.y + 38, shown, anchor="middle", size=34, weight=600, colour=colour)


def _timeseries(panel: Panel, found: Found, box: Box, day: Day) -> Iterator[str]:
    """Lines, or areas one upon the other, over the hours; the legend has the last values."""
    defaults = panel["fieldConfig"]["defaults"]
    stacked = defaults["custom"]["stacking"]["mode"] == "normal"
    ordered = sorted(found, key=lambda one: -_points(one[1])[-1][1])
    rows = min(len(ordered), SHOWN) + (len(ordered) > SHOWN)
    plot = Box(box.x + 48, box.y + 4, box.width - 56, box.height - 26 - 15 * rows)
    times = sorted({time for _, result in ordered for time, _ in _points(result)})
    sums = dict.fromkeys(times, 0.0)
    curves: list[list[tuple[float, float, float]]] = []
    for _, result in ordered:
        curve: list[tuple[float, float, float]] = []
        for time, value in _points(result):
            base = sums[time] if stacked else 0.0
            curve.append((time, base, base + value))
            sums[time] = base + value if stacked else 0.0
        curves.append(curve)
    highest = max(top for curve in curves for _, _, top in curve)
    top = defaults.get("max") or _rounded(highest)
    for part in range(5):
        y = plot.y + plot.height * part / 4
        yield f'<path d="M{plot.x} {y:.1f}h{plot.width}" stroke="#e4e5e6"/>'
        label = amount(top * (4 - part) / 4, defaults["unit"])
        yield _text(plot.x - 6, y + 4, label, anchor="end", colour="#5a5f66")
    for at in range(0, 25, 4):
        x = plot.x + plot.width * at / 24
        yield _text(x, plot.y + plot.height + 16, f"{at:02}:00", anchor="middle", colour="#5a5f66")
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        for piece in _pieces(curve):
            upper = [
                f"{_across(time, day, plot):.1f},{_up(value, top, plot):.1f}"
                for time, _, value in piece
            ]
            lower = [
                f"{_across(time, day, plot):.1f},{_up(value, top, plot):.1f}"
                for time, value, _ in reversed(piece)
            ]
            if len(curves) <= FILLED:
                opacity = defaults["custom"]["fillOpacity"] / 100
                area = " ".join([*upper, *lower])
                yield f'<polygon points="{area}" fill="{colour}" opacity="{opacity}"/>'
            yield (
                f'<polyline points="{" ".join(upper)}" fill="none" stroke="{colour}" '
                'stroke-width="1.4"/>'
            )
    y = plot.y + plot.height + 34
    for number, (target, result) in enumerate(ordered[:SHOWN]):
        colour = COLOURS[number % len(COLOURS)]
        yield f'<rect x="{box.x}" y="{y - 6}" width="14" height="3" fill="{colour}"/>'
        yield _text(box.x + 20, y, _legend(target, result))
        value = amount(_points(result)[-1][1], defaults["unit"])
        yield _text(box.x + box.width, y, value, anchor="end")
        y += 15
    if len(ordered) > SHOWN:
        yield _text(box.x + 20, y, f"and {len(ordered) - SHOWN} more", colour="#5a5f66")


def _bargauge(panel: Panel, found: Found, box: Box, day: Day) -> Iterator[str]:
    """One bar for each result."""
    unit = panel["fieldConfig"]["defaults"]["unit"]
    top = max(_value(result) for _, result in found) or 1
    each = box.height / len(found)
    for number, (target, result) in enumerate(found):
        y = box.y + number * each
        length = (box.width - 60) * _value(result) / top
        yield _text(box.x, y + 14, _legend(target, result))
        yield (
            f'<rect x="{box.x}" y="{y + 20:.1f}" width="{length:.1f}" height="{each - 30:.1f}" '
            f'fill="{THRESHOLDS["green"]}"/>'
        )
        yield _text(box.x + length + 8, y + each / 2 + 9, amount(_value(result), unit), size=14)


def _table(panel: Panel, found: Found, box: Box, day: Day) -> Iterator[str]:
    """One column for each label that a result has, and one for the value."""
    unit = panel["fieldConfig"]["defaults"]["unit"]
    ordered = sorted(found, key=lambda one: -_value(one[1]))
    shown = ordered[: int((box.height - 40) // 20)]
    names = sorted({key for _, one in shown for key in one["metric"] if key != "__name__"})
    rows = [[*names, "Value"]] + [
        [*(one["metric"].get(name, "") for name in names), amount(_value(one), unit)]
        for _, one in shown
    ]
    wide = [max(len(row[column]) for row in rows) + 3 for column in range(len(rows[0]))]
    scale = min(box.width / sum(wide), 1.8 * LETTER)
    for number, row in enumerate(rows):
        y = box.y + 14 + 20 * number
        x = box.x
        for text, letters in zip(row, wide, strict=True):
            fit = max(1, int(letters * scale / LETTER))
            plain = text if len(text) <= fit else f"{text[: fit - 1]}…"
            yield _text(x, y, plain, weight=400 if number else 600)
            x += letters * scale
        yield f'<path d="M{box.x} {y + 6}h{box.width}" stroke="#e4e5e6"/>'
    if len(ordered) > len(shown):
        y = box.y + 14 + 20 * len(rows)
        yield _text(box.x, y, f"and {len(ordered) - len(shown)} more", colour="#5a5f66")


DRAWN = {"stat": _stat, "timeseries": _timeseries, "bargauge": _bargauge, "table": _table}


def amount(value: float, unit: str) -> str:
    """A value as Grafana writes its unit."""
    if unit == "percentunit":
        return f"{100 * value:.1f}".removesuffix(".0") + " %"
    if unit == "currencyUSD":
        return f"${value / 1000:.3g}K" if value >= 1000 else f"${value:.3g}"
    if unit == "watt":
        return f"{value / 1000:.2f} kW" if value >= 1000 else f"{value:.0f} W"
    if unit == "s":
        return f"{value / 60:.3g} min" if value >= 60 else f"{value:.3g} s"
    return f"{value:.3g}" + (" °C" if unit == "celsius" else "")


def _points(result: dict[str, Any]) -> list[tuple[float, float]]:
    return [(float(time), float(value)) for time, value in result["values"] if value != "NaN"]


def _value(result: dict[str, Any]) -> float:
    return float(result["value"][1])


def _pieces(
    curve: list[tuple[float, float, float]],
) -> Iterator[list[tuple[float, float, float]]]:
    """Parts of a curve without a hole: a series that ended and came back is not joined."""
    step = min((b[0] - a[0] for a, b in pairwise(curve)), default=0.0)
    piece: list[tuple[float, float, float]] = []
    for point in curve:
        if piece and point[0] - piece[-1][0] > 1.5 * step:
            yield piece
            piece = []
        piece.append(point)
    yield piece


def _across(time: float, day: Day, box: Box) -> float:
    return box.x + box.width * (time - day[0]) / (day[1] - day[0])


def _up(value: float, top: float, box: Box) -> float:
    return box.y + box.height * (1 - min(value / top, 1))


def _rounded(value: float) -> float:
    """The end of an axis: the next of 1, 2, 4 and 8 times a power of ten."""
    if value <= 0:
        return 4
    power = 10.0 ** (len(f"{int(value)}") - 1)
    return next(power * step for step in (1, 2, 4, 8, 10) if power * step >= value)


def _legend(target: dict[str, Any], result: dict[str, Any]) -> str:
    text = target["legendFormat"]
    for key in result["metric"]:
        text = text.replace("{{" + key + "}}", result["metric"][key])
    return text


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 11,
    weight: int = 400,
    colour: str = "#24292e",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
    )
