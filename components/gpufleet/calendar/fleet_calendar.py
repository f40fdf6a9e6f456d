"""fleet_calendar: GPUs of a fleet's pools and teams over a time. Pure: time is an argument."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from gpufleet.calendar.model import CalendarAction, FleetCalendar, PoolWindows
from gpufleet.calendar.rules import (
    integral,
    validate_pool,
    validate_reservations,
    validate_teams,
)
from gpufleet.calendar.spans import pool_calendar, team_spans
from gpufleet.findings import ordered
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.spend import node_prices
from gpufleet.fleet.windows import DRAIN, bought_window


def fleet_calendar(fleet: Fleet, start: datetime, end: datetime) -> FleetCalendar:
    """The calendar from `start` to before `end`. Raises ValueError where `end` is not later."""
    return calendar_of(pool_windows(fleet), start, end)


def calendar_of(pools: Sequence[PoolWindows], start: datetime, end: datetime) -> FleetCalendar:
    """The calendar of windows. Raises ValueError where `end` is not later than `start`."""
    if start >= end:
        raise ValueError(f"a calendar from {start.isoformat()} to {end.isoformat()} has no time")
    calendars = tuple(pool_calendar(one, start, end) for one in pools)
    teams = team_spans(calendars, start, end)
    findings = [
        *(
            f
            for one, made in zip(pools, calendars, strict=True)
            for f in validate_pool(one, made, start)
        ),
        *validate_reservations(pools),
        *validate_teams(teams),
    ]
    spans = [span for made in calendars for span in made.spans]
    least, most, unused = (
        integral((rate, span.seconds) for span, rate in zip(spans, rates, strict=True))
        for rates in (
            [span.least for span in spans],
            [span.most for span in spans],
            [span.unused_cost for span in spans],
        )
    )
    actions = sorted(
        (one for pool in pools for one in _actions(pool) if start <= one.at < end),
        key=lambda one: (one.at, one.pool),
    )
    return FleetCalendar(
        start, end, calendars, teams, tuple(actions), ordered(findings), least, most, unused
    )


def pool_windows(fleet: Fleet) -> tuple[PoolWindows, ...]:
    """Facts from which the calendars of a fleet's pools are computed."""
    queues = fleet.spec.queues
    shares: Mapping[str, float] | None = (
        None if queues is None else {team.name: team.share for team in queues.teams}
    )
    named = queues is not None or any(p.spec.team or p.spec.commitments for p in fleet.pools)
    return tuple(_windows(pool, shares, named=named) for pool in fleet.pools)


def _windows(pool: Pool, shares: Mapping[str, float] | None, *, named: bool) -> PoolWindows:
    machine = pool.machines[0]
    return PoolWindows(
        name=pool.name,
        path=pool.path,
        team=pool.spec.team,
        machine=machine.name,
        gpus_per_node=pool.gpus_per_node,
        smallest=pool.nodes.minimum,
        largest=pool.nodes.maximum,
        capacity=pool.capacity,
        maintenance=pool.spec.maintenance,
        commitments=pool.spec.commitments,
        prices=tuple(node_prices(machine, entry) for entry in pool.capacity),
        shares=shares,
        separately=pool.platform.facts.scales_each_purchase,
        named=named,
    )


def _actions(pool: PoolWindows) -> Iterator[CalendarAction]:
    for entry in pool.capacity:
        window = bought_window(entry, pool.machine)
        if window is None or window.id is None:
            continue
        if window.starts is not None:
            yield CalendarAction(window.starts, pool.name, f"{window.id} starts: nodes can come")
        if window.usable_until is None or window.paid_until is None:
            continue
        if window.usable_until == window.paid_until:
            yield CalendarAction(
                window.paid_until,
                pool.name,
                f"{window.id} ends: no node can start in it, those that run cost the list price",
            )
            continue
        drain = window.usable_until - DRAIN
        yield CalendarAction(drain, pool.name, f"{window.id}: pods must leave, its nodes go")
        yield CalendarAction(
            window.usable_until, pool.name, f"{window.id}: EC2 terminates what still runs"
        )
        yield CalendarAction(window.paid_until, pool.name, f"{window.id} ends")
    for one in pool.maintenance:
        nodes = "all nodes" if one.nodes is None else f"{one.nodes} nodes"
        yield CalendarAction(one.starts, pool.name, f"maintenance of {nodes} starts")
        yield CalendarAction(one.until, pool.name, f"maintenance of {nodes} ends")
