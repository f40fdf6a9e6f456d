"""A calendar as plain data: what the command prints as JSON. Times in UTC, money in dollars."""

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from gpufleet.calendar.model import CalendarSpan, FleetCalendar
from gpufleet.calendar.rules import usd
from gpufleet.calendar.spans import NO_TEAM


def calendar_as_dict(calendar: FleetCalendar) -> dict[str, Any]:
    """The whole calendar, findings left out."""
    return {
        "start": _time(calendar.start),
        "end": _time(calendar.end),
        "pools": [
            {"name": one.name, "path": one.path, "spans": [_span(span) for span in one.spans]}
            for one in calendar.pools
        ],
        "teams": [
            {
                "name": name if name != NO_TEAM else None,
                "spans": [
                    {
                        "start": _time(span.start),
                        "end": _time(span.end),
                        "gpus": span.gpus,
                        "bought": span.sure,
                    }
                    for span in spans
                ],
            }
            for name, spans in calendar.teams.items()
        ],
        "actions": [
            {"at": _time(one.at), "pool": one.pool, "text": one.text} for one in calendar.actions
        ],
        "usd": {
            "paidInAnyCase": _usd(calendar.least),
            "atLargestSize": _usd(calendar.most),
            "boughtForNoTeam": _usd(calendar.unused),
        },
    }


def _span(span: CalendarSpan) -> dict[str, Any]:
    return {
        "start": _time(span.start),
        "end": _time(span.end),
        "bought": span.bought,
        "onDemand": span.requested,
        "expected": span.expected,
        "maintenance": span.out,
        "promised": dict(span.promised),
        "teams": {name: gpus for name, gpus in span.teams.items() if name != NO_TEAM},
        "instancesPaid": span.paid,
        "instancesUnused": span.unused,
    }


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _usd(micro: Fraction | None) -> str | None:
    return None if micro is None else usd(micro)
