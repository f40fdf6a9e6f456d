"""Spans of one pool and of each team: an exact walk from edge to edge."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from gpufleet.calendar.model import CalendarSpan, PoolCalendar, PoolWindows, TeamSpan
from gpufleet.fleet.kueue_quota import split
from gpufleet.fleet.windows import bought_window, committed, edges, nodes_at, nodes_out

NO_TEAM = ""
"""The name under which GPUs are counted that no team has."""


def pool_calendar(pool: PoolWindows, start: datetime, end: datetime) -> PoolCalendar:
    """The pool from `start` to before `end`."""
    found = edges(pool.capacity, pool.maintenance, pool.commitments, pool.machine)
    moments = sorted({start, end, *(one for one in found if start < one < end)})
    spans = tuple(_span(pool, a, b) for a, b in pairwise(moments))
    return PoolCalendar(pool.name, pool.path, spans)


def team_spans(
    calendars: Sequence[PoolCalendar], start: datetime, end: datetime
) -> dict[str, tuple[TeamSpan, ...]]:
    """Team -> its GPUs over time, all pools together; equal neighbours are one span."""
    moments = sorted({start, end, *(one.start for pool in calendars for one in pool.spans)})
    names = dict.fromkeys(t for pool in calendars for one in pool.spans for t in one.teams)
    found: dict[str, list[TeamSpan]] = {name: [] for name in names}
    places = [0] * len(calendars)
    for a, b in pairwise(moments):
        total, sure = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        for index, pool in enumerate(calendars):
            while pool.spans[places[index]].end <= a:
                places[index] += 1
            span = pool.spans[places[index]]
            left = span.bought
            for team, gpus in span.teams.items():
                total[team] += gpus
                sure[team] += min(gpus, left)
                left -= min(gpus, left)
        for name, spans in found.items():
            last = spans[-1] if spans else None
            if last is not None and (last.gpus, last.sure) == (total[name], sure[name]):
                spans[-1] = TeamSpan(last.start, b, last.gpus, last.sure)
            else:
                spans.append(TeamSpan(a, b, total[name], sure[name]))
    return {name: tuple(spans) for name, spans in found.items() if any(one.gpus for one in spans)}


def teams_at(pool: PoolWindows, gpus: int, promised: Mapping[str, int]) -> dict[str, int]:
    """Team -> GPUs it can use. An owner has all; else commitments come first, in order, and the
    shares of the queues divide the rest."""
    if pool.team is not None:
        return {pool.team: gpus}
    found: dict[str, int] = {}
    left = gpus
    for team, wanted in promised.items():
        found[team] = min(wanted, left)
        left -= found[team]
    if pool.shares is not None:
        for team, part in split(left, pool.shares).items():
            found[team] = found.get(team, 0) + part
    rest = gpus - sum(found.values())
    return found | ({NO_TEAM: rest} if rest else {})


def _span(pool: PoolWindows, start: datetime, end: datetime) -> CalendarSpan:
    nodes = nodes_at(pool.capacity, pool.maintenance, pool.machine, pool.largest, start)
    each = pool.gpus_per_node
    promised = committed(pool.commitments, start)
    paid, unused, least, unused_cost = _bought(pool, promised, start)
    rest = nodes.requested + nodes.expected
    dearest, cheapest = (_price(pool, highest=which) for which in (True, False))
    forced = min(rest, max(0, pool.smallest - nodes.bought))
    return CalendarSpan(
        start=start,
        end=end,
        bought=nodes.bought * each,
        requested=nodes.requested * each,
        expected=nodes.expected * each,
        out=nodes_out(pool.maintenance, pool.largest, start) * each,
        promised=promised,
        teams=teams_at(pool, nodes.total * each, promised),
        paid=paid,
        unused=unused,
        least=_sum(least, _times(forced, cheapest)),
        most=_sum(least, _times(pool.largest if pool.separately else rest, dearest)),
        unused_cost=unused_cost,
    )


def _bought(
    pool: PoolWindows, promised: Mapping[str, int], at: datetime
) -> tuple[int, int, int | None, int | None]:
    """Paid instances, those of them that no team may use, and the cost of both."""
    paid, unused = 0, 0
    cost: int | None = 0
    wasted: int | None = 0
    room = pool.largest
    used = _used(pool, promised)
    for entry, (_, price) in zip(pool.capacity, pool.prices, strict=True):
        window = bought_window(entry, pool.machine)
        if window is None or not window.is_paid(at):
            continue
        instances = room if window.instances is None else window.instances
        paid += instances
        room = max(0, room - instances)
        cost = _sum(cost, _times(instances, price))
        taken = min(instances, used)
        used -= taken
        if window.is_usable(at) and entry.on_prem is None:
            unused += instances - taken
            wasted = _sum(wasted, _times(instances - taken, price))
    return paid, unused, cost, wasted


def _used(pool: PoolWindows, promised: Mapping[str, int]) -> int:
    """Nodes that a team may use."""
    if pool.team is not None or pool.shares is not None or not pool.named:
        return pool.largest
    return min(pool.largest, -(-sum(promised.values()) // pool.gpus_per_node))


def _price(pool: PoolWindows, *, highest: bool) -> int | None:
    """Highest or lowest price of nodes that are not bought in advance; None: unknown."""
    found: list[int | None] = []
    for entry, (low, high) in zip(pool.capacity, pool.prices, strict=True):
        if bought_window(entry, pool.machine) is None:
            found.append(high if highest or low is None else low)
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    if pool.separately and highest:
        return sum(known)
    return (max if highest else min)(known, default=0)


def _times(count: int, price: int | None) -> int | None:
    if count == 0:
        return 0
    return None if price is None else count * price


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
