"""`gpufleet calendar`: when pools and teams have GPUs, and what unused capacity costs."""

import sys
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import click

from gpufleet.calendar.cells import calendar_grid, grid_svg, grid_text
from gpufleet.calendar.fleet_calendar import fleet_calendar
from gpufleet.calendar.model import CalendarSpan, FleetCalendar
from gpufleet.calendar.rules import usd
from gpufleet.calendar.spans import NO_TEAM
from gpufleet.cli.moments import MomentType
from gpufleet.cli.options import options
from gpufleet.cli.output import exit_code, print_findings, print_json
from gpufleet.cli.source import compile_source
from gpufleet.environment import start_moment
from gpufleet.findings import has_errors, ordered
from gpufleet.spec.capacity import minutes

LONGEST_DAYS = 1100
"""Longest calendar, about three years: no cloud sells capacity for later."""
_SHOWN = 30


def _length(value: str) -> timedelta:
    try:
        found = timedelta(minutes=minutes(value))
    except (AssertionError, OverflowError, ValueError):
        raise click.BadParameter(f"{value!r} is not a duration: write 12h, 30d") from None
    if found > timedelta(days=LONGEST_DAYS):
        raise click.BadParameter(f"{value!r} is longer than {LONGEST_DAYS}d")
    return found


def _zone(value: str) -> ZoneInfo:
    try:
        return ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        text = f"{value!r} is not a time zone of the IANA database: write Europe/Berlin"
        raise click.BadParameter(text) from None


@click.command()
@click.argument("source", metavar="SPEC")
@options(__file__, "calendar", at=MomentType(), length=_length, zone=_zone)
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
        gpufleet calendar fleet.yaml --zone Europe/Berlin --format svg > december.svg

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
    if made is not None and output_format == "text":
        click.echo("\n".join(_text(made, zone)))
    elif made is not None and output_format == "svg":
        click.echo(grid_svg(calendar_grid(made, zone), _title(made, zone)), nl=False)
    sys.exit(exit_code(findings))


def _title(made: FleetCalendar, zone: ZoneInfo) -> str:
    return f"{_time(made.start, zone)} to {_time(made.end, zone)} ({zone.key})"


def _text(made: FleetCalendar, zone: ZoneInfo) -> list[str]:
    lines = [_title(made, zone), *grid_text(calendar_grid(made, zone))]
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
