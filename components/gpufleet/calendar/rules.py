"""Findings about a calendar: promises that cannot be kept, and money for nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from gpufleet.calendar.model import CalendarSpan, PoolCalendar, PoolWindows, TeamSpan
from gpufleet.calendar.spans import NO_TEAM, pool_calendar
from gpufleet.catalogue import MICRO_USD, load
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.windows import bought_window, edges
from gpufleet.spec.capacity import TeamCommitment, minutes

_finding, _rules = findings_in(__file__), rules_in(__file__)

Interval = tuple[datetime, datetime]
_SHOWN = 3
_FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Later than every window."""


def validate_pool(pool: PoolWindows, calendar: PoolCalendar, start: datetime) -> Iterator[Finding]:
    """Everything about one pool."""
    for index, one in enumerate(pool.commitments):
        path = f"{pool.path}.commitments[{index}]"
        yield from _rules("owner", path, pool=pool, promise=one)
        yield from _short(pool, calendar, one, path)
        yield from _long_job(pool, one, path, start)
    yield from _double(pool, calendar)
    yield from _unused(pool, calendar)


def validate_teams(teams: dict[str, tuple[TeamSpan, ...]]) -> Iterator[Finding]:
    """Times without GPUs for a team, between times in which it has GPUs."""
    for team, spans in teams.items():
        having = [index for index, one in enumerate(spans) if one.gpus]
        if team == NO_TEAM or not having:
            continue
        holes = [(one.start, one.end) for one in spans[having[0] : having[-1]] if not one.gpus]
        if holes:
            yield _finding(
                "calendar-team-without-gpus",
                team=team,
                holes=shown(holes),
                intervals=as_text(holes),
            )


def validate_reservations(pools: Sequence[PoolWindows]) -> Iterator[Finding]:
    """One block or reservation that several pools use at the same time."""
    users: dict[str, list[tuple[PoolWindows, str, int | None, datetime, datetime]]] = {}
    for pool in pools:
        for index, entry in enumerate(pool.capacity):
            window = bought_window(entry, pool.machine)
            if window is not None and window.id is not None:
                users.setdefault(window.id, []).append(
                    (
                        pool,
                        f"{pool.path}.capacity[{index}].{entry.mode}",
                        window.instances,
                        window.starts or datetime.min.replace(tzinfo=UTC),
                        window.paid_until or _FOREVER,
                    )
                )
    for identifier, found in users.items():
        if len({one[0].name for one in found}) < 2:
            continue
        begins, ends = max(one[3] for one in found), min(one[4] for one in found)
        stated = [one[2] for one in found if one[2] is not None]
        held = max(stated) if stated else max(one[0].largest for one in found)
        wanted = sum(one[0].largest for one in found)
        if begins < ends and wanted > held:
            names = [one[0].name for one in found]
            known = {"pools": names, "held": held, "wanted": wanted, "identifier": identifier}
            yield from _rules("double", found[-1][1], **known)


def _short(
    pool: PoolWindows, calendar: PoolCalendar, one: TeamCommitment, path: str
) -> Iterable[Finding]:
    during = [span for span in calendar.spans if _covers(one, span)]
    missing = _joined(during, lambda span: span.gpus < one.gpus)
    if missing:
        most = max(span.gpus for span in during if span.gpus < one.gpus)
        known = {"most": most, "missing": shown(missing), "intervals": as_text(missing)}
        lead = _on_sale(pool, missing[0][0])
        yield from _rules("gap", path, pool=pool, promise=one, lead=lead, **known)
    unsure = _joined(during, lambda span: span.bought < one.gpus <= span.gpus)
    if unsure:
        known = {"unsure": shown(unsure), "intervals": as_text(unsure)}
        yield from _rules("expectation", path, pool=pool, promise=one, **known)


def _on_sale(pool: PoolWindows, begin: datetime) -> str:
    """From when on a Capacity Block for a time can be bought, of a pool that has one."""
    if not any(entry.capacity_block for entry in pool.capacity):
        return ""
    opens = begin - timedelta(weeks=load().clouds["aws"].blocks["weeks_ahead"])
    return f" (EC2 sells a Capacity Block for it from {opens:%Y-%m-%d} on)"


def _long_job(pool: PoolWindows, one: TeamCommitment, path: str, at: datetime) -> Iterable[Finding]:
    if one.longest_job is None or (one.until is not None and one.until <= at):
        return
    wanted = timedelta(minutes=minutes(one.longest_job))
    longest = longest_run(pool, one, at)
    if wanted <= longest:
        return
    yield from _rules("job", path, pool=pool, promise=one, longest=_hours(longest))


def longest_run(pool: PoolWindows, one: TeamCommitment, at: datetime) -> timedelta:
    """Longest time without a break in which the GPUs of a commitment are there, from its start, or
    from `at`. Flex start and queued nodes end after their longest run."""
    begin = at if one.starts is None else one.starts
    if one.until is not None and one.until <= begin:
        return timedelta(0)
    last = max((begin, *edges(pool.capacity, pool.maintenance, (), pool.machine)))
    end = one.until or last + timedelta(days=1)
    whole = pool_calendar(pool, begin, end).spans
    endless = end if one.until is None else None
    limits = [
        timedelta(minutes=minutes(dynamic.max_run_duration))
        for entry in pool.capacity
        for dynamic in (entry.flex_start, entry.queued)
        if dynamic is not None
    ]
    sure = _joined(whole, lambda span: span.bought + span.requested >= one.gpus)
    hoped = _joined(whole, lambda span: span.gpus >= one.gpus)
    return max(_longest(sure, endless), min([_longest(hoped, endless), *limits]))


def _double(pool: PoolWindows, calendar: PoolCalendar) -> Iterable[Finding]:
    def twice(span: CalendarSpan) -> bool:
        wanted = [one.gpus for one in pool.commitments if _covers(one, span)]
        return sum(wanted) > span.gpus and all(one <= span.gpus for one in wanted)

    found = _joined(calendar.spans, twice)
    if not found or pool.team is not None:
        return
    worst = max((s for s in calendar.spans if twice(s)), key=lambda s: sum(s.promised.values()))
    names = ", ".join(f"{gpus} to {team}" for team, gpus in worst.promised.items())
    known = {"promised": sum(worst.promised.values()), "names": names, "most": worst.gpus}
    when, times = shown(found), as_text(found)
    yield from _rules("booked", pool.path, pool=pool, when=when, intervals=times, **known)


def _unused(pool: PoolWindows, calendar: PoolCalendar) -> Iterable[Finding]:
    spans = [span for span in calendar.spans if span.unused]
    if not spans:
        return
    hours = Fraction(sum(span.unused * span.seconds for span in spans), 3600)
    money = integral((span.unused_cost, span.seconds) for span in spans)
    price = "at a price that is not known" if money is None else f"{usd(money)} USD"
    times = _joined(spans, lambda _: True)
    index = next(i for i, one in enumerate(pool.capacity) if bought_window(one, pool.machine))
    known = {"price": price, "times": shown(times), "intervals": as_text(times)}
    known |= {"hours": f"{float(hours):g}", "usd": None if money is None else usd(money)}
    yield from _rules("unused", f"{pool.path}.capacity[{index}]", pool=pool, **known)


def integral(parts: Iterable[tuple[int | None, int]]) -> Fraction | None:
    """Micro-dollars of hourly rates over seconds; None: a rate is unknown."""
    total = Fraction(0)
    for rate, seconds in parts:
        if rate is None:
            return None
        total += Fraction(rate * seconds, 3600)
    return total


def usd(micro: Fraction) -> str:
    """Dollars, to the cent, rounded half up."""
    cents = int(micro * 100 / MICRO_USD + Fraction(1, 2))
    return f"{Decimal(cents) / 100:.2f}"


def shown(intervals: Sequence[Interval]) -> str:
    """The first intervals as words."""
    some = [f"from {_minute(a)} to {_minute(b)}" for a, b in intervals[:_SHOWN]]
    more = f" and {len(intervals) - _SHOWN} times more" if len(intervals) > _SHOWN else ""
    return ", ".join(some) + more


def as_text(intervals: Sequence[Interval]) -> list[list[str]]:
    """Intervals for JSON."""
    return [[_minute(a), _minute(b)] for a, b in intervals]


def _minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _hours(length: timedelta) -> str:
    whole = int(length.total_seconds()) // 60
    return f"{whole // 60}h" + (f" {whole % 60}m" if whole % 60 else "")


def _covers(one: TeamCommitment, span: CalendarSpan) -> bool:
    return (one.starts is None or one.starts <= span.start) and (
        one.until is None or span.start < one.until
    )


def _joined(spans: Sequence[CalendarSpan], holds: Callable[[CalendarSpan], bool]) -> list[Interval]:
    """Times in which a condition holds, neighbours together."""
    found: list[Interval] = []
    for span in spans:
        if not holds(span):
            continue
        if found and found[-1][1] == span.start:
            found[-1] = (found[-1][0], span.end)
        else:
            found.append((span.start, span.end))
    return found


def _longest(intervals: Sequence[Interval], endless: datetime | None) -> timedelta:
    """Longest interval; without limit where the last one reaches the moment after which nothing
    changes."""
    if endless is not None and intervals and intervals[-1][1] == endless:
        return timedelta.max
    return max((b - a for a, b in intervals), default=timedelta(0))
