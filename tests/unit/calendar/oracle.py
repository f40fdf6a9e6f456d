"""A naive calendar: counts every ten minutes, has no intervals, shares no code with the product.

Times are minutes from the beginning. A set is plain numbers; `windows` turns it into declarations.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from gpufleet.calendar.model import PoolWindows
from gpufleet.spec.capacity import Capacity, MaintenanceWindow, TeamCommitment

BEGIN = datetime(2026, 12, 1, tzinfo=UTC)
TICK = 10
TICKS = 72
RECLAIM_MINUTES = 30
TEAMS = ("a", "b", "c")


@dataclass
class RandomPool:
    """One pool as numbers: `bought` is kind, start, end, instances, price."""

    largest: int
    each: int
    owner: str | None
    bought: list[tuple[str, int | None, int | None, int | None, int]]
    others: list[str]
    maintenance: list[tuple[int, int, int | None]]
    promises: list[tuple[str, int, int | None, int | None]]
    shares: bool
    prices: list[int] = field(default_factory=list)


def random_pool(draw: random.Random) -> RandomPool:
    """Few distinct moments, so that ends meet; some outside the calendar, some not stated."""
    moments = sorted(draw.randrange(-20, TICKS + 20) * TICK for _ in range(draw.randint(3, 7)))

    def window(*, whole: bool = False) -> tuple[int | None, int | None]:
        start, end = draw.choice(moments), draw.choice(moments)
        if start == end:
            end = start + TICK * draw.randint(1, 4)
        start, end = min(start, end), max(start, end)
        return (
            None if not whole and draw.random() < 0.2 else start,
            None if not whole and draw.random() < 0.2 else end,
        )

    bought: list[tuple[str, int | None, int | None, int | None, int]] = []
    for _ in range(draw.randint(0, 3)):
        kind = draw.choice(("block", "reserved", "reserved", "own"))
        start, end = (None, None) if kind == "own" else window()
        if kind == "block" and end is None:
            end = max(moments) + TICK
            start = None if start is None else min(start, end - TICK)
        count = None if kind == "own" or draw.random() < 0.4 else draw.randint(1, 6)
        bought.append((kind, start, end, count, draw.randint(1, 9) * 1_000_000))
    others = draw.sample(["onDemand", "spot", "flexStart"], draw.randint(0, 2))
    if not bought and not others:
        others = ["spot"]
    maintenance = []
    for _ in range(draw.randint(0, 2)):
        start, end = window(whole=True)
        assert start is not None
        assert end is not None
        maintenance.append((start, end, None if draw.random() < 0.3 else draw.randint(1, 3)))
    promises = [
        (draw.choice(TEAMS), draw.randint(1, 24), *window()) for _ in range(draw.randint(0, 4))
    ]
    return RandomPool(
        largest=draw.randint(1, 6),
        each=draw.choice((1, 4, 8)),
        owner=draw.choice((None, None, None, "a")),
        bought=bought,
        others=others,
        maintenance=maintenance,
        promises=promises,
        shares=draw.random() < 0.3,
    )


def windows(pool: RandomPool, name: str) -> PoolWindows:
    """The same as declarations."""

    def at(minute: int | None) -> str | None:
        return None if minute is None else (BEGIN + timedelta(minutes=minute)).isoformat()

    entries: list[dict[str, Any]] = []
    prices: list[tuple[int, int]] = []
    for kind, start, end, count, price in pool.bought:
        dates = {"starts": at(start), "until": at(end), "instances": count}
        entries.append(
            {
                "block": {"capacityBlock": {"id": "cr-" + "0" * 17, "zone": "z", **dates}},
                "reserved": {"reserved": {"id": "cr-1", **dates}},
                "own": {"onPrem": {}},
            }[kind]
        )
        prices.append((price, price))
    for one in pool.others:
        entries.append({one: {}})
        prices.append((500_000, 12_000_000))
    return PoolWindows(
        name=name,
        path="pools[0]",
        team=pool.owner,
        machine="p5.48xlarge",
        gpus_per_node=pool.each,
        smallest=0,
        largest=pool.largest,
        capacity=tuple(Capacity.model_validate(entry) for entry in entries),
        maintenance=tuple(
            MaintenanceWindow.model_validate({"starts": at(a), "until": at(b), "nodes": n})
            for a, b, n in pool.maintenance
        ),
        commitments=tuple(
            TeamCommitment.model_validate({"team": t, "gpus": g, "starts": at(a), "until": at(b)})
            for t, g, a, b in pool.promises
        ),
        prices=tuple(prices),
        shares={"b": 0.5, "c": 0.25} if pool.shares else None,
    )


@dataclass
class NaiveTick:
    """Everything about one pool at one moment."""

    bought: int
    requested: int
    expected: int
    out: int
    teams: dict[str, int]
    least: int
    most: int
    unused: int
    unused_cost: int
    short: list[bool]
    unsure: list[bool]
    double: bool


def naive(pool: RandomPool, minute: int) -> NaiveTick:
    """Counted node by node."""

    def within(start: int | None, end: int | None) -> bool:
        if start is not None and minute < start:
            return False
        return not (end is not None and minute >= end)

    free = pool.largest
    firm = paid = 0
    payments: list[list[int]] = []  # instances, price, whether they can be used
    room = pool.largest
    for kind, start, end, count, price in pool.bought:
        usable = end - RECLAIM_MINUTES if kind == "block" and end is not None else end
        if within(start, usable):
            for _ in range(free if count is None else count):
                if free:
                    free -= 1
                    firm += 1
        if within(start, end):
            instances = room if count is None else count
            room = max(0, room - instances)
            paid += instances * price
            payments.append([instances, price, int(within(start, usable) and kind != "own")])
    requested = free if "onDemand" in pool.others else 0
    expected = free if not requested and {"spot", "flexStart"} & set(pool.others) else 0
    gone = 0
    for start, end, nodes in pool.maintenance:
        if start <= minute < end:
            gone += pool.largest if nodes is None else nodes
    gone = min(gone, pool.largest)
    nodes = [1] * firm + [2] * requested + [3] * expected
    nodes = nodes[gone:]
    firm, requested, expected = nodes.count(1), nodes.count(2), nodes.count(3)
    gpus = len(nodes) * pool.each
    now = [(t, g) for t, g, a, b in pool.promises if within(a, b)]
    teams = _teams(pool, gpus, now)
    if pool.owner is not None or pool.shares:
        needed = pool.largest
    else:
        whole = sum(g for _, g in now)
        needed = 0
        while needed < pool.largest and needed * pool.each < whole:
            needed += 1
    unused = unused_cost = 0
    for instances, price, counts in payments:
        for _ in range(instances):
            if needed:
                needed -= 1
            elif counts:
                unused += 1
                unused_cost += price
    rest = requested + expected
    return NaiveTick(
        firm * pool.each,
        requested * pool.each,
        expected * pool.each,
        gone * pool.each,
        teams,
        paid,
        paid + rest * 12_000_000,
        unused,
        unused_cost,
        [within(a, b) and g > gpus for _, g, a, b in pool.promises],
        [within(a, b) and firm * pool.each < g <= gpus for _, g, a, b in pool.promises],
        _double(now, gpus) and pool.owner is None,
    )


def _teams(pool: RandomPool, gpus: int, now: list[tuple[str, int]]) -> dict[str, int]:
    if pool.owner is not None:
        return {pool.owner: gpus} if gpus else {}
    order = list(dict.fromkeys(team for team, _ in now))
    found: dict[str, int] = {}
    left = gpus
    for team in order:
        for _ in range(sum(g for t, g in now if t == team)):
            if left:
                left -= 1
                found[team] = found.get(team, 0) + 1
    if pool.shares:
        b, c = _largest_remainder(left)
        found["b"], found["c"] = found.get("b", 0) + b, found.get("c", 0) + c
    rest = gpus - sum(found.values())
    return {team: n for team, n in (found | {"": rest}).items() if n}


def _largest_remainder(left: int) -> tuple[int, int]:
    """Half and a quarter, in quarters; whole units of all together are given out."""
    b, c = divmod(2 * left, 4), divmod(left, 4)
    units = (3 * left) // 4 - b[0] - c[0]
    extra = sorted([(-b[1], 0), (-c[1], 1)])[:units]
    return b[0] + sum(i == 0 for _, i in extra), c[0] + sum(i == 1 for _, i in extra)


def _double(now: list[tuple[str, int]], gpus: int) -> bool:
    """Each promise alone could be kept, all together cannot, for any assignment."""
    return sum(count for _, count in now) > gpus and all(count <= gpus for _, count in now)
