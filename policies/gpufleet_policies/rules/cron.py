"""Cron expressions: how soon a schedule comes back at the soonest."""

from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise

from gpufleet_policies.names import meanings

_MACROS = meanings("macro of cron")
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES = {
    name: str(number)
    for names, first in ((_MONTHS, 1), (_WEEKDAYS, 0))
    for number, name in enumerate(names, first)
}
_FIRST = date(2024, 1, 1)
_DAYS = 4 * 366
"""A leap year is among them."""


@lru_cache(maxsize=256)
def shortest_interval(expression: str) -> int | None:
    """Seconds between two runs that follow each other soonest.

    None for what is not a cron expression of five fields, and for one that comes at most once.
    """
    words = _MACROS.get(expression.strip().lower(), expression).lower().split()
    if len(words) != len(_FIELDS):
        return None
    sets = [
        _numbers(word, *bounds, named=i >= _MONTH)
        for i, (word, bounds) in enumerate(zip(words, _FIELDS, strict=True))
    ]
    if None in sets or not all(sets):
        return None
    minutes, hours, month_days, months, weekdays = (found or frozenset() for found in sets)
    times = sorted(hour * 60 + minute for hour in hours for minute in minutes)
    either = not words[2].startswith("*") and not words[4].startswith("*")
    days = _days(month_days, months, {day % 7 for day in weekdays}, either=either)
    gaps = [after - before for before, after in pairwise(times)]
    for before, after in pairwise(days):
        gaps.append((after - before) * 1440 + times[0] - times[-1])
        if after - before == 1:
            break
    return min(gaps) * 60 if gaps else None


_MONTH = 3


def _days(
    month_days: frozenset[int], months: frozenset[int], weekdays: set[int], *, either: bool
) -> list[int]:
    """Days of the schedule; with both fields written, cron takes days that match either."""
    found: list[int] = []
    for offset in range(_DAYS):
        day = _FIRST + timedelta(days=offset)
        if day.month not in months:
            continue
        in_month, in_week = day.day in month_days, day.isoweekday() % 7 in weekdays
        if (in_month or in_week) if either else (in_month and in_week):
            found.append(offset)
    return found


def _numbers(word: str, low: int, high: int, *, named: bool) -> frozenset[int] | None:
    found: set[int] = set()
    for part in word.split(","):
        span, _, step = part.partition("/")
        if span in ("*", "?"):
            first, last = low, high
        else:
            start, dash, end = span.partition("-")
            if named:
                start, end = _NAMES.get(start, start), _NAMES.get(end, end)
            if not _is_figure(start) or (dash and not _is_figure(end)):
                return None
            first = int(start)
            last = int(end) if dash else (high if step else first)
        if (step and not _is_figure(step)) or step == "0" or not low <= first <= last <= high:
            return None
        found.update(range(first, last + 1, int(step or 1)))
    return frozenset(found)


def _is_figure(word: str) -> bool:
    """Whether it is a number that a field of a schedule can hold."""
    return word.isascii() and word.isdecimal() and len(word) <= 4
