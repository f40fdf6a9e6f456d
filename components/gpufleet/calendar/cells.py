"""A calendar as rows of cells: an hour, a local day or a week each, as letters and as SVG."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

from gpufleet.calendar.model import CalendarSpan, FleetCalendar, TeamSpan
from gpufleet.calendar.spans import NO_TEAM

MOST_CELLS = 56
"""Cells of a row: with names and numbers it fits into 80 columns."""
KEY = (
    ("#", "bought or owned"),
    ("+", "on demand, not promised"),
    ("~", "spot, flex start or queued: an expectation"),
    ("/", "part of the time"),
    ("m", "maintenance"),
    (".", "no GPU"),
)
_STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:12px;fill:#1f2328}"
    ".title{font-size:15px;font-weight:700}"
)
_COLOURS = {
    "#": "#0a7d5c",
    "+": "#1f6feb",
    "~": "#b58900",
    "/": "#8250df",
    "m": "#9a4d00",
    ".": "#eaeef2",
}


@dataclass(frozen=True, slots=True)
class CalendarRow:
    """One pool or team."""

    name: str
    letters: str
    """One of `KEY` for each cell."""
    most: int
    """GPUs at most."""


@dataclass(frozen=True, slots=True)
class CalendarGrid:
    """Rows over the same cells."""

    unit: str
    """Size of one cell: `hour`, `day`, `week`."""
    edges: tuple[datetime, ...]
    """Start of each cell, and the end of the last one, in the time zone."""
    pools: tuple[CalendarRow, ...]
    teams: tuple[CalendarRow, ...]


def calendar_grid(calendar: FleetCalendar, zone: ZoneInfo) -> CalendarGrid:
    """The calendar in cells. Days and weeks begin at midnight of the zone, so a day may have 23 or
    25 hours."""
    unit, moments = _cells(calendar.start, calendar.end, zone)
    pools = tuple(
        CalendarRow(
            one.name,
            "".join(_letters(one.spans, moments, _of_pool)),
            max(span.gpus for span in one.spans),
        )
        for one in calendar.pools
    )
    teams = tuple(
        CalendarRow(
            name or "(no team)",
            "".join(_letters(spans, moments, _of_team)),
            max(span.gpus for span in spans),
        )
        for name, spans in sorted(calendar.teams.items(), key=lambda one: (one[0] == NO_TEAM,))
    )
    return CalendarGrid(unit, tuple(m.astimezone(zone) for m in moments), pools, teams)


def _cells(start: datetime, end: datetime, zone: ZoneInfo) -> tuple[str, list[datetime]]:
    """The finest unit that fits, and the edges of the cells in UTC, from `start` to `end`."""
    for unit, days in (("hour", 0), ("day", 1), ("week", 7)):
        moments = [start]
        while moments[-1] < end and len(moments) <= MOST_CELLS:
            moments.append(min(end, _next(moments[-1], days, zone)))
        if moments[-1] >= end:
            return unit, moments
    width = (end - start) / MOST_CELLS
    return "part", [*(start + width * n for n in range(MOST_CELLS)), end]


def _next(moment: datetime, days: int, zone: ZoneInfo) -> datetime:
    if days == 0:
        return (moment + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0)
    local = moment.astimezone(zone).date() + timedelta(days=days)
    return datetime.combine(local, time(), zone).astimezone(UTC)


def _of_pool(span: CalendarSpan | TeamSpan) -> str:
    assert isinstance(span, CalendarSpan)
    if span.out:
        return "m"
    if span.expected:
        return "~"
    return "+" if span.requested else "#" if span.bought else "."


def _of_team(span: CalendarSpan | TeamSpan) -> str:
    assert isinstance(span, TeamSpan)
    if not span.gpus:
        return "."
    return "#" if span.sure == span.gpus else "+"


def _letters(
    spans: Sequence[CalendarSpan | TeamSpan],
    moments: Sequence[datetime],
    letter: Callable[[CalendarSpan | TeamSpan], str],
) -> Iterable[str]:
    """Value for the whole cell; maintenance if any part of it has maintenance; else `/`."""
    for start, end in pairwise(moments):
        found = {letter(one) for one in spans if one.start < end and start < one.end}
        if len(found) == 1:
            yield found.pop()
        else:
            yield "m" if "m" in found else "/" if "." in found else max(found, key="#+~".find)


def grid_text(grid: CalendarGrid) -> list[str]:
    """Lines of at most 80 columns: dates above, a row for each pool and team, the key."""
    names = [row.name for row in (*grid.pools, *grid.teams)]
    width = min(15, max((len(name) for name in names), default=0))
    lines = [f"one character is one {grid.unit}", *_ruler(grid, width)]
    for title, rows in (("pools", grid.pools), ("teams", grid.teams)):
        if rows:
            lines.append(title)
            lines += [
                f"  {_short(row.name, width):<{width}} {row.letters} {row.most:>5}" for row in rows
            ]
    used = {letter for row in (*grid.pools, *grid.teams) for letter in row.letters}
    key = [f"{letter} {text}" for letter, text in KEY if letter in used]
    line = ""
    for one in key:
        if line and len(line) + len(one) > 76:
            lines.append(line)
            line = ""
        line += ("   " if line else "") + one
    return [*lines, line]


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def _ruler(grid: CalendarGrid, width: int) -> list[str]:
    """Marks above every seventh cell; the last column is the most GPUs there are."""
    form = "%H:%M" if grid.unit == "hour" else "%d %b"
    cells = len(grid.edges) - 1
    marks = [" "] * cells
    for index in range(0, cells, 7):
        text = grid.edges[index].strftime(form)
        if index + len(text) <= cells:
            marks[index : index + len(text)] = text
    return [" " * (width + 3) + "".join(marks) + "  GPUs"]


def grid_svg(grid: CalendarGrid, title: str) -> str:
    """The same as one picture without scripts; each box names itself for screen readers."""
    box, left, top, line = 12, 170, 60, 22
    cells = len(grid.edges) - 1
    rows = [*grid.pools, *grid.teams]
    width, height = left + cells * box + 80, top + (len(rows) + 2) * line + 30
    form = "%Y-%m-%d %H:%M" if grid.unit == "hour" else "%Y-%m-%d"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<style>{_STYLE}</style>",
        f'<title>{escape(title)}</title><rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="16" y="24">{escape(title)}</text>',
    ]
    for index in range(0, cells, 7):
        day = grid.edges[index].strftime("%H:%M" if grid.unit == "hour" else "%d %b")
        out.append(f'<text x="{left + index * box}" y="{top - 8}">{day}</text>')
    meaning = dict(KEY)
    for number, row in enumerate(rows):
        y = top + (number + (number >= len(grid.pools))) * line
        out.append(f'<text x="16" y="{y + 14}">{escape(row.name[:22])}</text>')
        for index, letter in enumerate(row.letters):
            when = grid.edges[index].strftime(form)
            out.append(
                f'<rect x="{left + index * box}" y="{y}" width="{box - 1}" height="{line - 4}" '
                f'fill="{_COLOURS[letter]}"><title>{escape(f"{row.name}, {when}: ")}'
                f"{escape(meaning[letter])}</title></rect>"
            )
        out.append(f'<text x="{left + cells * box + 8}" y="{y + 14}">{row.most} GPUs</text>')
    x, y = 16, height - 14
    for letter, text in KEY:
        out.append(f'<rect x="{x}" y="{y - 10}" width="10" height="10" fill="{_COLOURS[letter]}"/>')
        out.append(f'<text x="{x + 14}" y="{y}">{escape(text.split(":")[0].split(",")[0])}</text>')
        x += 30 + 7 * len(text.split(":")[0].split(",")[0])
    return "\n".join([*out, "</svg>", ""])
