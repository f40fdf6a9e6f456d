"""One option for each workload so that the whole is cheap: shares of one machine are bought once.

Start from the options that are cheapest alone and from those cheapest for their part of a machine;
move single workloads while the total falls. Where that is above the bound
and HiGHS is installed, the integer program finds a cheaper choice or proves that there is none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpufleet_planner.packing import highs
from gpufleet_planner.planning.filled_pool import (
    Demand,
    FilledPool,
    PoolKey,
    filled_pools,
    item_of,
    layouts_of,
    nodes_of,
    pool_key,
    stranded_of,
)
from gpufleet_planner.planning.lower_bound import (
    UNPRICED,
    dearest_alone,
    least_part,
    machine_price,
    tightest,
)
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.selection_program import OptionRow, choose_rows
from gpufleet_planner.sizing.device import DeviceShare

_PASSES = 4
_IMPOSSIBLE = 1e18
"""Cost of a pool that cannot be: above all that can."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One workload with the options it has."""

    name: str
    intent: str
    options: tuple[Option, ...]
    """Best alone first, never empty."""
    ends: bool = False
    """A job: it runs for a time, so the cheapest run counts, not the cheapest hour. It gets the
    first option that can be declared."""
    zones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice for all workloads."""

    pools: tuple[FilledPool, ...]
    chosen: Mapping[str, Option]
    cost: float
    """Micro-dollars an hour; machines without a price count by their GPUs."""
    bound: float


Fits = Callable[[PoolKey], bool]


def select(candidates: Sequence[Candidate], one_profile: bool, allowed: Fits) -> Selection:
    """Options for all candidates. `allowed` refuses pools that cannot be declared. Raises KeyError
    with the name of a candidate that has no allowed option, or no room on own machines."""
    keys: dict[PoolKey, int] = {}
    usable: dict[str, list[OptionRow]] = {}
    for candidate in candidates:
        rows = _rows(candidate, keys, one_profile, allowed)
        if not rows:
            raise KeyError(candidate.name)
        usable[candidate.name] = rows[:1] if candidate.ends else rows
    pools = list(keys)
    costs: dict[tuple[int, frozenset[tuple[str | int, int]]], float] = {}
    starts = (
        {name: rows[0] for name, rows in usable.items()},
        {name: min(rows, key=lambda row: (row.part, row.order)) for name, rows in usable.items()},
    )
    best: _Search | None = None
    for start in starts:
        search = _Search(pools, usable, dict(start), costs)
        search.improve()
        if best is None or search.total < best.total:
            best = search
    assert best is not None
    best.refuse_impossible()
    filled, chosen = best.filled(), best.chosen
    bound = _bound(candidates, usable)
    if highs.available() and cost_of(filled) > bound:
        found, least = _by_program(candidates, usable, pools, filled)
        bound = max(bound, least)
        if found:
            other = _Search(pools, usable, found, costs)
            other.prefer()
            if cost_of(other.filled()) < cost_of(filled):
                filled, chosen = other.filled(), other.chosen
    options = {name: row.option for name, row in chosen.items()}
    return Selection(filled, options, cost_of(filled), min(bound, cost_of(filled)))


def cost_of(pools: Iterable[FilledPool]) -> float:
    """Micro-dollars an hour of their machines; those without a price count by their GPUs."""
    return sum(pool.nodes * machine_price(pool.key.machine) for pool in pools)


def _by_program(
    candidates: Sequence[Candidate],
    usable: Mapping[str, list[OptionRow]],
    pools: Sequence[PoolKey],
    known: Sequence[FilledPool],
) -> tuple[dict[str, OptionRow], float]:
    """A choice by the integer program, empty where it gave none, and what every choice costs at
    least. Workloads of different intents share no machine, unless it is owned: each intent has a
    program of its own."""
    owned = any(key.machine.most_nodes is not None for key in pools)
    groups: dict[str, list[str]] = defaultdict(list)
    for candidate in candidates:
        groups["" if owned else candidate.intent].append(candidate.name)
    prices = [machine_price(key.machine) for key in pools]
    chosen: dict[str, OptionRow] = {}
    least, complete = 0.0, True
    for intent, names in groups.items():
        spent = cost_of(pool for pool in known if owned or pool.key.intent == intent)
        rows = _within([usable[name] for name in names], spent)
        picked, bound = choose_rows(pools, prices, rows)
        least += min(bound, spent)
        chosen |= dict(zip(names, picked, strict=False))
        complete = complete and bool(picked)
    return (chosen if complete else {}), least


def _within(usable: Sequence[Sequence[OptionRow]], spent: float) -> list[list[OptionRow]]:
    """Options with which all workloads may still cost no more than a known choice: the others take
    more than that with the least parts of the rest."""
    least, weight = tightest([[row.option for row in rows] for rows in usable])
    kept: list[list[OptionRow]] = []
    for rows in usable:
        parts = [least_part(row.option, weight) for row in rows]
        limit = spent - least + min(parts)
        kept.append([r for r, part in zip(rows, parts, strict=True) if part <= limit * (1 + 1e-9)])
    return kept


def _bound(candidates: Sequence[Candidate], usable: Mapping[str, list[OptionRow]]) -> float:
    """Sum over the intents: workloads of two intents never share a machine."""
    groups: dict[str, list[list[Option]]] = defaultdict(list)
    for candidate in candidates:
        groups[candidate.intent].append([row.option for row in usable[candidate.name]])
    return sum(max(dearest_alone(group), tightest(group)[0]) for group in groups.values())


def _rows(
    candidate: Candidate, keys: dict[PoolKey, int], one_profile: bool, allowed: Fits
) -> list[OptionRow]:
    """The options that may be declared, best alone first; of those that ask the same of the same
    pool, the one that asks for least."""
    found: dict[tuple[int, str | int], OptionRow] = {}
    for order, option in enumerate(candidate.options):
        key = pool_key(candidate.intent, option, one_profile, candidate.zones)
        if key not in keys:
            if not allowed(key):
                continue
            keys[key] = len(keys)
        item, count = item_of(option)
        row = OptionRow(option, keys[key], item, count, _part(option), order)
        kept = found.get((row.pool, item))
        if kept is None or row.count < kept.count:
            found[row.pool, item] = row
    return sorted(found.values(), key=lambda row: row.order)


def _part(option: Option) -> float:
    part = option.part_micro_usd
    # Without a price GPUs are counted, above every price: priced options win.
    return float(part) if part is not None else UNPRICED * float(option.gpu_part)


class _Search:
    """The state of one descent: who is where, what each pool must hold and costs."""

    def __init__(
        self,
        pools: Sequence[PoolKey],
        usable: Mapping[str, list[OptionRow]],
        chosen: dict[str, OptionRow],
        costs: dict[tuple[int, frozenset[tuple[str | int, int]]], float],
    ) -> None:
        self.pools, self.usable, self.chosen, self.known = pools, usable, chosen, costs
        self.demands: dict[int, dict[str | int, int]] = {}
        for row in chosen.values():
            demand = self.demands.setdefault(row.pool, {})
            demand[row.item] = demand.get(row.item, 0) + row.count
        self.costs = {pool: self._cost(pool, demand) for pool, demand in self.demands.items()}

    @property
    def total(self) -> float:
        """Micro-dollars an hour of all pools."""
        return sum(self.costs.values())

    def _cost(self, pool: int, demand: Demand) -> float:
        if not demand:
            return 0.0
        memo = (pool, frozenset(demand.items()))
        found = self.known.get(memo)
        if found is None:
            found = self.known[memo] = self._fresh_cost(self.pools[pool], demand)
        return found

    def _fresh_cost(self, key: PoolKey, demand: Demand) -> float:
        nodes, most = nodes_of(key, demand), key.machine.most_nodes
        if most is not None and nodes > most and key.kind is DeviceShare.MIG:
            nodes = sum(layout.nodes for layout in layouts_of(key, demand))
        if most is not None and nodes > most:
            return _IMPOSSIBLE
        # A small amount for each node and each stranded slice decides between equal prices.
        return nodes * (machine_price(key.machine) + 1e-3) + stranded_of(key, demand) * 1e-4

    def _changed(self, row: OptionRow, sign: int) -> dict[str | int, int]:
        demand = dict(self.demands.get(row.pool, {}))
        left = demand.get(row.item, 0) + sign * row.count
        if left:
            demand[row.item] = left
        else:
            demand.pop(row.item, None)
        return demand

    def _delta(self, name: str, row: OptionRow) -> float:
        old = self.chosen[name]
        less = self._changed(old, -1)
        if old.pool == row.pool:
            less[row.item] = less.get(row.item, 0) + row.count
            return self._cost(old.pool, less) - self.costs[old.pool]
        more = self._changed(row, 1)
        before = self.costs[old.pool] + self.costs.get(row.pool, 0.0)
        return self._cost(old.pool, less) + self._cost(row.pool, more) - before

    def _put(self, name: str, row: OptionRow) -> None:
        old = self.chosen[name]
        self.demands[old.pool] = self._changed(old, -1)
        self.demands[row.pool] = self._changed(row, 1)
        self.chosen[name] = row
        for pool in (old.pool, row.pool):
            self.costs[pool] = self._cost(pool, self.demands[pool])

    def improve(self) -> None:
        """Move single workloads until nothing falls."""
        for _ in range(_PASSES):
            if not sum(self._move(name) for name in self.usable):
                return

    def _move(self, name: str) -> bool:
        best, least = None, -1e-6
        for row in self.usable[name]:
            delta = 0.0 if row is self.chosen[name] else self._delta(name, row)
            if delta < least:
                best, least = row, delta
        if best is None:
            return False
        self._put(name, best)
        return True

    def prefer(self) -> None:
        """The best option alone that costs no more, for each workload."""
        for name, rows in self.usable.items():
            for row in rows[: rows.index(self.chosen[name])]:
                if self._delta(name, row) <= 0:
                    self._put(name, row)
                    break

    def refuse_impossible(self) -> None:
        """Raise KeyError where a pool cannot be, or own machines do not suffice."""
        nodes: dict[OfferedMachine, int] = defaultdict(int)
        for pool in self.filled():
            machine = pool.key.machine
            nodes[machine] += pool.nodes
            if machine.most_nodes is not None and nodes[machine] > machine.most_nodes:
                raise KeyError(pool.members[0][0])

    def filled(self) -> tuple[FilledPool, ...]:
        """The pools with their nodes, in order of their first member."""
        members: dict[int, list[tuple[str, Option]]] = defaultdict(list)
        for name in self.usable:
            members[self.chosen[name].pool].append((name, self.chosen[name].option))
        return tuple(
            filled
            for pool, rows in members.items()
            for filled in filled_pools(self.pools[pool], tuple(rows))
        )
