"""The calendar against a naive count every ten minutes, on 10,000 random sets of windows."""

import random
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise

import pytest

from gpufleet.calendar.fleet_calendar import calendar_of
from gpufleet.calendar.model import CalendarSpan, FleetCalendar
from gpufleet.calendar.rules import longest_run
from tests.unit.calendar.oracle import (
    BEGIN,
    TICK,
    TICKS,
    NaiveTick,
    RandomPool,
    naive,
    random_pool,
    windows,
)

END = BEGIN + timedelta(minutes=TICK * TICKS)
SETS = 10_000
PARTS = 40


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=[pytest.mark.nightly] * (part > 0)) for part in range(PARTS)]
)
def test_every_moment_is_as_counted(part: int) -> None:
    draw = random.Random(20261123 + part)
    for number in range(SETS // PARTS):
        pools = [random_pool(draw) for _ in range(draw.choice((1, 1, 2)))]
        made = calendar_of(
            [windows(one, f"p{index}") for index, one in enumerate(pools)], BEGIN, END
        )
        ticks = [[naive(one, tick * TICK) for tick in range(TICKS)] for one in pools]
        _compare(made, pools, ticks, f"part {part}, set {number}")


def _compare(
    made: FleetCalendar, pools: list[RandomPool], ticks: list[list[NaiveTick]], label: str
) -> None:
    for index, (calendar, naive_ticks) in enumerate(zip(made.pools, ticks, strict=True)):
        spans = calendar.spans
        assert spans[0].start == BEGIN, label
        assert spans[-1].end == END, label
        assert all(a.end == b.start for a, b in pairwise(spans)), label
        for number, expected in enumerate(naive_ticks):
            span = _at(spans, number)
            where = f"{label}, pool {index}, minute {number * TICK}: {pools[index]}"
            assert (span.bought, span.requested, span.expected) == (
                expected.bought,
                expected.requested,
                expected.expected,
            ), where
            assert span.out == expected.out, where
            assert {team: n for team, n in span.teams.items() if n} == expected.teams, where
            assert (span.least, span.most) == (expected.least, expected.most), where
            assert (span.unused, span.unused_cost) == (expected.unused, expected.unused_cost), where
    for money, name in ((made.least, "least"), (made.most, "most"), (made.unused, "unused_cost")):
        total = sum(getattr(tick, name) for one in ticks for tick in one)
        assert money == Fraction(total * TICK, 60), (label, name)
    if len(pools) == 1:
        _compare_findings(made, pools[0], ticks[0], label)
    _compare_teams(made, ticks, label)


def _compare_findings(
    made: FleetCalendar, pool: RandomPool, ticks: list[NaiveTick], label: str
) -> None:
    for number in range(len(pool.promises)):
        path = f"pools[0].commitments[{number}]"
        for code, flags in (
            ("calendar-gap", [one.short[number] for one in ticks]),
            ("calendar-expectation", [one.unsure[number] for one in ticks]),
        ):
            found = [f for f in made.findings if f.code == code and f.path == path]
            intervals = found[0].evidence["intervals"] if found else []
            assert intervals == _runs(flags), (label, code, pool)
    found = [f for f in made.findings if f.path == "pools[0].commitments"]
    intervals = found[0].evidence["intervals"] if found else []
    assert intervals == _runs([one.double for one in ticks]), (label, pool)
    found = [f for f in made.findings if f.code == "calendar-unused"]
    assert bool(found) == any(one.unused for one in ticks), (label, pool)


def _compare_teams(made: FleetCalendar, ticks: list[list[NaiveTick]], label: str) -> None:
    for number in range(TICKS):
        moment = BEGIN + timedelta(minutes=number * TICK)
        expected: dict[str, int] = {}
        for one in ticks:
            for team, gpus in one[number].teams.items():
                expected[team] = expected.get(team, 0) + gpus
        found = {
            team: next(s.gpus for s in spans if s.start <= moment < s.end)
            for team, spans in made.teams.items()
        }
        assert {team: n for team, n in found.items() if n} == expected, (label, number)


def test_the_longest_run_is_as_counted() -> None:
    draw = random.Random(7)
    tried = 0
    for _ in range(1_000):
        pool = random_pool(draw)
        if "flexStart" in pool.others:
            continue
        source = windows(pool, "p")
        for number, (_, gpus, start, end) in enumerate(pool.promises):
            if start is None or end is None:
                continue
            best = run = 0
            for minute in range(start, end, TICK):
                tick = naive(pool, minute)
                there = tick.bought + tick.requested + tick.expected
                run = run + TICK if there >= gpus else 0
                best = max(best, run)
            found = longest_run(source, source.commitments[number], BEGIN)
            assert found == timedelta(minutes=best), (pool, number)
            tried += 1
    assert tried > 500


def _at(spans: tuple[CalendarSpan, ...], number: int) -> CalendarSpan:
    moment = BEGIN + timedelta(minutes=number * TICK)
    return next(span for span in spans if span.start <= moment < span.end)


def _runs(flags: list[bool]) -> list[list[str]]:
    found: list[list[int]] = []
    for number, flag in enumerate(flags):
        if flag and found and found[-1][1] == number:
            found[-1][1] = number + 1
        elif flag:
            found.append([number, number + 1])
    return [
        [(BEGIN + timedelta(minutes=n * TICK)).strftime("%Y-%m-%dT%H:%M:%SZ") for n in one]
        for one in found
    ]
