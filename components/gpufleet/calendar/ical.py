"""A calendar in iCalendar (RFC 5545): one event for each window, promise, gap and action."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import cast

from gpufleet.calendar.model import FleetCalendar, PoolWindows
from gpufleet.fleet.windows import bought_window

_LONGEST = 75
"""Octets of a line (RFC 5545 3.1)."""


def calendar_ical(calendar: FleetCalendar, pools: Iterable[PoolWindows]) -> str:
    """The calendar. The same input gives the same text: DTSTAMP is its beginning, each UID the
    digest of what the event says, and of how often it was said before."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//gpufleet//calendar//EN"]
    seen: Counter[str] = Counter()
    for start, end, summary, text in sorted(_events(calendar, tuple(pools))):
        said = f"{start}{end}{summary}{text}"
        repeated = f" {seen[said]}" if seen[said] else ""
        seen[said] += 1
        identifier = hashlib.sha256(f"{said}{repeated}".encode()).hexdigest()[:32]
        lines += [
            "BEGIN:VEVENT",
            f"UID:{identifier}@gpufleet",
            f"DTSTAMP:{_time(calendar.start)}",
            f"DTSTART:{_time(start)}",
            f"DTEND:{_time(end)}",
            f"SUMMARY:{_text(summary)}",
            *([f"DESCRIPTION:{_text(text)}"] if text else []),
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    return "".join(f"{folded}\r\n" for line in [*lines, "END:VCALENDAR"] for folded in _fold(line))


def _events(
    calendar: FleetCalendar, pools: tuple[PoolWindows, ...]
) -> Iterator[tuple[datetime, datetime, str, str]]:
    begin, end = calendar.start, calendar.end

    def within(
        start: datetime | None, until: datetime | None, summary: str, text: str = ""
    ) -> Iterator[tuple[datetime, datetime, str, str]]:
        a, b = max(begin, start or begin), min(end, until or end)
        if a < b:
            yield a, b, summary, text

    for pool in pools:
        for entry in pool.capacity:
            window = bought_window(entry, pool.machine)
            if window is not None and window.id is not None:
                count = pool.largest if window.instances is None else window.instances
                yield from within(
                    window.starts,
                    window.paid_until,
                    f"{pool.name}: {window.id}",
                    f"{count} x {pool.machine}, {count * pool.gpus_per_node} GPUs",
                )
        for one in pool.maintenance:
            nodes = "all nodes" if one.nodes is None else f"{one.nodes} nodes"
            yield from within(one.starts, one.until, f"{pool.name}: maintenance of {nodes}")
        for promise in pool.commitments:
            yield from within(
                promise.starts,
                promise.until,
                f"{pool.name}: {promise.gpus} GPUs for {promise.team}",
            )
    for action in calendar.actions:
        yield action.at, action.at + timedelta(minutes=15), f"{action.pool}: {action.text}", ""
    for finding in calendar.findings:
        intervals = cast("list[list[str]]", finding.evidence.get("intervals", []))
        for interval in intervals:
            a, b = map(datetime.fromisoformat, interval)
            yield a, b, f"{finding.code} {finding.path}", finding.message


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _text(value: str) -> str:
    for plain, escaped in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\n", "\\n")):
        value = value.replace(plain, escaped)
    return value


def _fold(line: str) -> Iterator[str]:
    """Lines of at most 75 octets; continuations begin with a space, no letter is split."""
    current = ""
    for letter in line:
        if len((current + letter).encode()) > _LONGEST:
            yield current
            current = " "
        current += letter
    yield current
