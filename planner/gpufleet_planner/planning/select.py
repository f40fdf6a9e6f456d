"""The cheapest combination of one option for each workload: a shared machine is bought once.

The options that are cheapest alone, and the options cheapest by their part of a machine, give a
first answer. Where that is above the bound and HiGHS is installed, the integer program finds a
cheaper choice or proves that none exists.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpufleet_planner.packing import highs
from gpufleet_planner.packing.slots import maximal_patterns, proof
from gpufleet_planner.planning.layouts import (
    FilledPool,
    PoolKey,
    beside_slices,
    filled_pools,
    item_of,
    pool_key,
    room,
)
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.workloads import ChosenWorkload
from gpufleet_planner.sizing.device import DeviceShare

GAP, LARGE = 2e-3, 1_500
"""Relative gap at which a program of more columns stops; smaller ones are solved to the end."""


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option of a workload: what it adds to which pool."""

    option: Option
    pool: int
    item: str | int
    count: int
    part: float
    order: int
    """Place among the workload's options: the best alone is first."""
    whole: float
    """Micro-dollars an hour of its machines, nothing else on them."""
    least: tuple[float, float]
    """The same of its part of them, by compute alone and by memory alone."""


def choose_rows(
    pools: Sequence[PoolKey], prices: Sequence[float], workloads: Sequence[Sequence[OptionRow]]
) -> tuple[list[OptionRow], float]:
    """The option of each workload, and the proven minimum cost in the unit of `prices`, the prices
    of one machine of each pool. Empty where the program found no solution."""
    program = highs.IntegerProgram()
    demand: dict[int, dict[str | int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    columns: list[dict[int, OptionRow]] = []
    for rows in workloads:
        # Of choices with equal cost, the one that is best alone: a micro-dollar for each place.
        own = {program.column(row.order, upper=1): row for row in rows}
        program.row(dict.fromkeys(own, 1), 1, 1)
        columns.append(own)
        for column, row in own.items():
            demand[row.pool][row.item][column] = row.count
    machines: dict[OfferedMachine, dict[int, int]] = defaultdict(dict)
    for pool, items in demand.items():
        key, price = pools[pool], round(prices[pool])
        bought = machines[key.machine]
        if key.kind is DeviceShare.MIG and key.profile is None:
            bought |= _slices(program, key, price, items)
            continue
        groups: dict[tuple[str | int, int], dict[int, int]] = defaultdict(dict)
        for item, counts in items.items():
            group, units, full = room(key, item)
            groups[group, full] |= {column: units * n for column, n in counts.items()}
        for (_, full), counts in groups.items():
            bought |= _machines(program, price, counts, full)
    for machine, bought in machines.items():
        if machine.most_nodes is not None:
            program.row(bought, upper=machine.most_nodes)
    solved = highs.solve(program, gap=GAP if len(program.costs) > LARGE else 0.0)
    if not solved.values:
        return [], 0.0
    chosen = [next(row for c, row in own.items() if round(solved.values[c])) for own in columns]
    return chosen, solved.bound


def _machines(
    program: highs.IntegerProgram, price: int, counts: Mapping[int, int], each: int
) -> dict[int, int]:
    """Machines that hold `each` of what is counted."""
    bought = program.column(price)
    program.row({**counts, bought: -each}, upper=0)
    return {bought: 1}


def _slices(
    program: highs.IntegerProgram,
    key: PoolKey,
    price: int,
    items: Mapping[str | int, Mapping[int, int]],
) -> dict[int, int]:
    """Slices come from GPUs with a MIG layout, GPUs and whole GPUs from machines."""
    geometry = key.machine.gpu.mig
    assert geometry is not None
    gpus: dict[int, int] = {}
    names = [name for name in items if isinstance(name, str)]
    patterns = maximal_patterns(geometry, frozenset(names))
    cut = [program.column(proof(geometry, pattern).stranded_compute) for pattern in patterns]
    for name in names:
        held = {c: -n for c, p in zip(cut, patterns, strict=True) if (n := dict(p).get(name))}
        program.row({**items[name], **held}, upper=0)
    for size, counts in items.items():
        if isinstance(size, int):
            gpus |= {column: copies * size for column, copies in counts.items()}
    return _machines(program, price, {**gpus, **dict.fromkeys(cut, 1)}, key.machine.gpus)


OPTIONS = 60
"""Options of one workload that are looked at."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One row for each workload, and the pools that come of it."""

    rows: Mapping[str, OptionRow]
    pools: tuple[FilledPool, ...]
    cost: float
    """Micro-dollars an hour; machines without a price count by their GPUs; infinite where own
    machines do not suffice."""
    crowded: str | None
    """A workload that has no room on them."""
    bound: float = 0.0

    @classmethod
    def of(cls, pools: Sequence[PoolKey], rows: Mapping[str, OptionRow]) -> "Selection":
        """Fill the pools, in order of their first member."""
        members: dict[int, list[tuple[str, Option]]] = defaultdict(list)
        for name, row in rows.items():
            members[row.pool].append((name, row.option))
        filled = tuple(
            one for pool, own in members.items() for one in filled_pools(pools[pool], tuple(own))
        )
        nodes: dict[OfferedMachine, int] = defaultdict(int)
        for pool in filled:
            machine = pool.key.machine
            nodes[machine] += pool.nodes
            if machine.most_nodes is not None and nodes[machine] > machine.most_nodes:
                return cls(rows, filled, float("inf"), pool.members[0][0])
        return cls(rows, filled, _cost(filled), None)

    @property
    def order(self) -> int:
        """Sum of the places among the options of each workload: of two as cheap, less is better."""
        return sum(row.order for row in self.rows.values())


Fits = Callable[[PoolKey], bool]
_EXCLUSIVE = (DeviceShare.MIG, DeviceShare.MPS)
"""Where slices have names of their own, no GPU of the cluster is shared by MPS:
`device-plugin-mps-mixed`."""


def select(
    candidates: Sequence[ChosenWorkload],
    one_profile: bool,
    allowed: Fits,
    zones: tuple[str, ...] = (),
) -> Selection:
    """Options for all candidates; a job gets the first that can be declared. `zones`: default of
    options without zones. `allowed` refuses pools that cannot be declared. Raises KeyError with the
    name of a candidate that has no allowed option, or no room on own machines."""
    kinds = {option.share.kind for one in candidates for option in one.choice.options[:OPTIONS]}
    sides: list[Fits] = [allowed]
    if not one_profile and kinds.issuperset(_EXCLUSIVE):
        sides = [
            lambda key, kind=kind: key.kind is not kind and allowed(key) for kind in _EXCLUSIVE
        ]
    tried = [_select(candidates, one_profile, side, zones) for side in sides]
    found = [one for one in tried if isinstance(one, Selection)]
    if not found:
        raise KeyError(tried[0])
    best = min(found, key=lambda one: (round(one.cost), one.order))
    return replace(best, bound=min(one.bound for one in found))


def _select(
    candidates: Sequence[ChosenWorkload], one_profile: bool, allowed: Fits, zones: tuple[str, ...]
) -> Selection | str:
    """The cheapest of the pools that are allowed; a candidate that has none."""
    keys: dict[PoolKey, int] = {}
    known: dict[tuple[object, ...], int] = {}
    usable: dict[str, list[OptionRow]] = {}
    for candidate in candidates:
        rows = _rows(candidate, keys, known, one_profile, allowed, zones)
        if not rows:
            return candidate.name
        usable[candidate.name] = rows[:1] if candidate.ends else rows
    pools = list(keys)
    for rows in usable.values():
        rows += [
            replace(row, pool=keys[shared])
            for row in rows
            if (shared := beside_slices(pools[row.pool], row.option)) in keys
        ]
    starts = (
        {name: rows[0] for name, rows in usable.items()},
        {name: min(rows, key=lambda row: (row.part, row.order)) for name, rows in usable.items()},
    )
    found = min((Selection.of(pools, start) for start in starts), key=lambda choice: choice.cost)
    bound = _bound(candidates, usable)
    if highs.available() and found.cost > bound:
        picked, least = _by_program(candidates, usable, pools, found)
        bound = max(bound, least)
        if picked:
            found = min(Selection.of(pools, picked), found, key=lambda choice: choice.cost)
    if found.crowded is not None:
        return found.crowded
    return replace(found, bound=min(bound, found.cost))


def _cost(pools: Iterable[FilledPool]) -> float:
    return sum(pool.nodes * machine_price(pool.key.machine) for pool in pools)


def _by_program(
    candidates: Sequence[ChosenWorkload],
    usable: Mapping[str, list[OptionRow]],
    pools: Sequence[PoolKey],
    known: Selection,
) -> tuple[dict[str, OptionRow], float]:
    """A choice by the integer program, empty without a solution, and the minimum cost of every
    choice. Workloads of different intents share no machine, unless it is owned: each intent has its
    own program."""
    owned = any(key.machine.most_nodes is not None for key in pools)
    groups: dict[str, list[str]] = defaultdict(list)
    for candidate in candidates:
        groups["" if owned else candidate.intent].append(candidate.name)
    prices = [machine_price(key.machine) for key in pools]
    chosen: dict[str, OptionRow] = {}
    least, complete = 0.0, True
    for intent, names in groups.items():
        spent = known.cost
        if not owned:
            spent = _cost(pool for pool in known.pools if pool.key.intent == intent)
        rows = _within([usable[name] for name in names], spent)
        picked, bound = choose_rows(pools, prices, rows)
        least += min(bound, spent)
        chosen |= dict(zip(names, picked, strict=False))
        complete = complete and bool(picked)
    return ({name: chosen[name] for name in usable} if complete else {}), least


def _within(usable: Sequence[Sequence[OptionRow]], spent: float) -> list[list[OptionRow]]:
    """Options with which all workloads may still cost no more than a known choice: with the minimum
    parts of the others, each other option costs more."""
    least, weight = _tightest(usable)
    kept: list[list[OptionRow]] = []
    for rows in usable:
        parts = [weight * row.least[0] + (1 - weight) * row.least[1] for row in rows]
        limit = spent - least + min(parts)
        kept.append([r for r, part in zip(rows, parts, strict=True) if part <= limit * (1 + 1e-9)])
    return kept


def _bound(candidates: Sequence[ChosenWorkload], usable: Mapping[str, list[OptionRow]]) -> float:
    """Sum over the intents: workloads of two intents never share a machine. At least the machines
    of the most expensive workload, at its cheapest option, are needed."""
    groups: dict[str, list[list[OptionRow]]] = defaultdict(list)
    for candidate in candidates:
        groups[candidate.intent].append(usable[candidate.name])
    return sum(
        max(max(min(row.whole for row in rows) for rows in group), _tightest(group)[0])
        for group in groups.values()
    )


def _rows(
    candidate: ChosenWorkload,
    keys: dict[PoolKey, int],
    known: dict[tuple[object, ...], int],
    one_profile: bool,
    allowed: Fits,
    zones: tuple[str, ...],
) -> list[OptionRow]:
    """The options that may be declared, best alone first; of options with the same demand on the
    same pool, the one that requests least."""
    found: dict[tuple[int, str | int], OptionRow] = {}
    zones = candidate.entry.zones or zones
    for order, option in enumerate(candidate.choice.options[:OPTIONS]):
        # Most options go where another one went: the key is made once for each.
        seen = id(option.machine), option.share.label, option.fabric, candidate.intent, zones
        if seen not in known:
            key = pool_key(candidate.intent, option, one_profile, zones)
            known[seen] = keys.setdefault(key, len(keys)) if allowed(key) else -1
        pool = known[seen]
        if pool < 0:
            continue
        item, count = item_of(option)
        kept = found.get((pool, item))
        if kept is None or count < kept.count:
            price = machine_price(option.machine)
            each, whole = price * option.devices / option.machine.gpus, price * option.machines
            compute, memory = option.share.slice_parts
            least = each * float(compute), each * float(memory)
            part = option.part_micro_usd
            if part is None:  # GPUs are counted, above every price: priced options win.
                part = UNPRICED * float(option.gpu_part)
            row = OptionRow(option, pool, item, count, part, order, whole, least)
            found[pool, item] = row
    return sorted(found.values(), key=lambda row: row.order)


_WEIGHTS = tuple(n / 4 for n in range(5))
UNPRICED = 1e12
"""Micro-dollars a GPU without a price counts as: above all that have one."""


def _tightest(workloads: Sequence[Sequence[OptionRow]]) -> tuple[float, float]:
    """Micro-dollars an hour of the minimum parts, a lower bound of every search because each
    workload takes its part of some machine, and the weight of compute in them. Slices have a part
    of compute and of memory; with one weight for all the parts of one GPU never add up to more than
    it, so the best weight counts."""
    costs = [{row.least for row in rows} for rows in workloads]
    return max(
        (sum(min(w * compute + (1 - w) * memory for compute, memory in own) for own in costs), w)
        for w in _WEIGHTS
    )


def machine_price(machine: OfferedMachine) -> float:
    """Micro-dollars an hour; one without a price counts by its GPUs."""
    return float(machine.micro_usd) if machine.micro_usd is not None else UNPRICED * machine.gpus
