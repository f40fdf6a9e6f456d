"""`gpufleet calendar`: when pools and teams have GPUs, and what unused capacity costs."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import click

from gpufleet.calendar.fleet_calendar import fleet_calendar
from gpufleet.calendar.model import CalendarSpan, FleetCalendar, TeamSpan
from gpufleet.calendar.rules import usd
from gpufleet.calendar.spans import NO_TEAM
from gpufleet.cli.moments import MomentType
from gpufleet.cli.output import exit_code, format_option, print_findings, print_json
from gpufleet.cli.source import compile_source
from gpufleet.environment import start_moment
from gpufleet.findings import has_errors, ordered
from gpufleet.spec.capacity import minutes

LONGEST_DAYS = 1100
"""Longest calendar, about three years: no cloud sells capacity for later."""
_SHOWN = 30


def _length(ctx: click.Context, param: click.Parameter, value: str) -> timedelta:
    del ctx, param
    try:
        found = timedelta(minutes=minutes(value))
    except (AssertionError, OverflowError, ValueError):
        raise click.BadParameter(f"{value!r} is not a duration: write 12h, 30d") from None
    if found > timedelta(days=LONGEST_DAYS):
        raise click.BadParameter(f"{value!r} is longer than {LONGEST_DAYS}d")
    return found


def _zone(ctx: click.Context, param: click.Parameter, value: str) -> ZoneInfo:
    del ctx, param
    try:
        return ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        text = f"{value!r} is not a time zone of the IANA database: write Europe/Berlin"
        raise click.BadParameter(text) from None


@click.command()
@click.argument("source", metavar="SPEC")
@click.option(
    "--at",
    type=MomentType(),
    metavar="TIME",
    help="Where the calendar begins: 2026-12-01 (UTC), 2026-12-01T09:00:00+01:00. Default: "
    "GPUFLEET_AT, else now.",
)
@click.option(
    "--for",
    "length",
    callback=_length,
    default="30d",
    show_default=True,
    metavar="TIME",
    help=f"How long it is: hours or days, at most {LONGEST_DAYS}d.",
)
@click.option(
    "--zone",
    callback=_zone,
    default="UTC",
    show_default=True,
    metavar="ZONE",
    help="Time zone of the drawing, such as Europe/Berlin; days begin at its midnight.",
)
@click.option("--prices", metavar="FILE", help="Prices of your own, as for `gpufleet compile`.")
@format_option
def command(
    source: str,
    at: datetime | None,
    length: timedelta,
    zone: ZoneInfo,
    prices: str | None,
    output_format: str,
) -> None:
    """Draw when pools and teams have GPUs: Capacity Blocks, reservations, flex start, spot,
    maintenance and commitments of SPEC, from --at for --for.

    It reports gaps in commitments, double bookings, jobs that are longer than their window, and
    blocks that no team may use, with their cost. On-demand, spot, flex-start and queued capacity is
    drawn as an expectation. docs/calendar.md explains each field.

    \b
        gpufleet calendar fleet.yaml --at 2026-12-01 --for 30d
        gpufleet calendar fleet.yaml --zone Europe/Berlin

    JSON: {"calendar": {"start", "end", "pools", "teams", "actions", "usd"} or null, "findings"}.
    Exits 1 when a finding is an error, such as a block that has ended at --at; 2 when SPEC cannot
    be read.
    """
    if at is None:
        try:
            at = start_moment()
        except ValueError as problem:
            raise click.UsageError(str(problem)) from None
    compiled = compile_source(source, prices, at)
    findings = compiled.findings
    made: FleetCalendar | None = None
    # An ended block is an error of the declaration, but the calendar is still printed.
    others = [f for f in findings if f.code not in {"capacity-block-ended", "reservation-ended"}]
    if compiled.fleet is not None and not has_errors(others):
        made = fleet_calendar(compiled.fleet, at, at + length)
        findings = ordered((*findings, *made.findings))
    if output_format == "json":
        shown = None if made is None else _as_dict(made)
        print_json({"calendar": shown, "findings": [f.as_dict() for f in findings]})
    else:
        print_findings(findings)
        if made is not None:
            click.echo("\n".join(_text(made, zone)))
    sys.exit(exit_code(findings))


def _text(made: FleetCalendar, zone: ZoneInfo) -> list[str]:
    title = f"{_time(made.start, zone)} to {_time(made.end, zone)} ({zone.key})"
    lines = [title, *grid_text(calendar_grid(made, zone))]
    if made.actions:
        lines += ["", "what happens"]
        lines += [
            f"  {_time(one.at, zone)}  {one.pool}: {one.text}" for one in made.actions[:_SHOWN]
        ]
    if len(made.actions) > _SHOWN:
        lines.append(f"  and {len(made.actions) - _SHOWN} more (--format json)")
    lines += ["", f"paid in any case    {_usd(made.least)}"]
    lines += [f"at the largest size {_usd(made.most)}", f"bought for no team  {_usd(made.unused)}"]
    return lines


def _time(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _usd(micro: Fraction | None) -> str:
    if micro is None:
        return "not known: a price is missing"
    whole, _, cents = usd(micro).partition(".")
    return f"{int(whole):>15,}.{cents} USD"


def _as_dict(calendar: FleetCalendar) -> dict[str, Any]:
    """The whole calendar, findings left out. Times in UTC, money in dollars."""
    return {
        "start": _utc(calendar.start),
        "end": _utc(calendar.end),
        "pools": [
            {"name": one.name, "path": one.path, "spans": [_span(span) for span in one.spans]}
            for one in calendar.pools
        ],
        "teams": [
            {
                "name": name if name != NO_TEAM else None,
                "spans": [
                    {
                        "start": _utc(span.start),
                        "end": _utc(span.end),
                        "gpus": span.gpus,
                        "bought": span.sure,
                    }
                    for span in spans
                ],
            }
            for name, spans in calendar.teams.items()
        ],
        "actions": [
            {"at": _utc(one.at), "pool": one.pool, "text": one.text} for one in calendar.actions
        ],
        "usd": {
            "paidInAnyCase": _dollars(calendar.least),
            "atLargestSize": _dollars(calendar.most),
            "boughtForNoTeam": _dollars(calendar.unused),
        },
    }


def _span(span: CalendarSpan) -> dict[str, Any]:
    return {
        "start": _utc(span.start),
        "end": _utc(span.end),
        "bought": span.bought,
        "onDemand": span.requested,
        "expected": span.expected,
        "maintenance": span.out,
        "promised": dict(span.promised),
        "teams": {name: gpus for name, gpus in span.teams.items() if name != NO_TEAM},
        "instancesPaid": span.paid,
        "instancesUnused": span.unused,
    }


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _dollars(micro: Fraction | None) -> str | None:
    return None if micro is None else usd(micro)


# A calendar as rows of cells: an hour, a local day or a week each, as letters.

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
