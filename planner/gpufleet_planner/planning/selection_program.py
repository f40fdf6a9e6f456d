"""The integer program of a plan: one option for each workload, so that the machines cost least.

Columns: whether a workload has an option, machines of a pool, and for slices the GPUs that are cut
by one layout. A pool of whole GPUs, shares or slices holds what its machines offer; machines that
are owned are only as many as there are. The program's bound is that of all options: one that is
left out would cost more than an answer that is known.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from gpufleet_planner.packing import highs
from gpufleet_planner.packing.patterns import maximal_patterns
from gpufleet_planner.planning.filled_pool import PoolKey
from gpufleet_planner.planning.layouts import stranded_of
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option
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


def choose_rows(
    pools: Sequence[PoolKey], prices: Sequence[float], workloads: Sequence[Sequence[OptionRow]]
) -> tuple[list[OptionRow], float]:
    """The option of each workload, and the proven least cost in the unit of `prices`, those of one
    machine of each pool. Empty where the program gave no answer."""
    program = highs.IntegerProgram()
    demand: dict[int, dict[str | int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    columns: list[dict[int, OptionRow]] = []
    for rows in workloads:
        # Of choices that cost as much, the one that is best alone: a micro-dollar for each place.
        own = {program.column(row.order, upper=1): row for row in rows}
        program.row(dict.fromkeys(own, 1), 1, 1)
        columns.append(own)
        for column, row in own.items():
            demand[row.pool][row.item][column] = row.count
    machines: dict[OfferedMachine, dict[int, int]] = defaultdict(dict)
    for pool, items in demand.items():
        key, price = pools[pool], round(prices[pool])
        if key.kind is DeviceShare.MIG:
            bought = _slices(program, key, price, items)
        elif key.kind is DeviceShare.WHOLE:
            bought = _whole(program, key, price, items)
        else:
            every = {c: n for counts in items.values() for c, n in counts.items()}
            bought = _machines(program, price, every, key.replicas * key.machine.gpus)
        machines[key.machine].update(bought)
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


def _whole(
    program: highs.IntegerProgram,
    key: PoolKey,
    price: int,
    items: Mapping[str | int, Mapping[int, int]],
) -> dict[int, int]:
    """Copies of some GPUs each, as `nodes_of` counts them: those of a machine and more have
    machines of their own, and so has a size that does not divide a machine."""
    gpus = key.machine.gpus
    bought: dict[int, int] = {}
    small: dict[int, int] = {}
    for item, counts in items.items():
        size = int(item)
        if size >= gpus:
            for column, copies in counts.items():
                program.costs[column] += price * copies * ceil(size / gpus)
                bought[column] = copies * ceil(size / gpus)
        elif gpus % size:
            bought |= _machines(program, price, counts, gpus // size)
        else:
            small |= {column: copies * size for column, copies in counts.items()}
    return {**bought, **_machines(program, price, small, gpus)} if small else bought


def _slices(
    program: highs.IntegerProgram,
    key: PoolKey,
    price: int,
    items: Mapping[str | int, Mapping[int, int]],
) -> dict[int, int]:
    """Slices come from GPUs that are cut by layouts, GPUs and whole ones from machines."""
    geometry = key.machine.gpu.mig
    assert geometry is not None
    if key.profile is not None:
        full = geometry.profiles[key.profile].max_instances
        return _machines(program, price, items[key.profile], full * key.machine.gpus)
    gpus: dict[int, int] = {}
    names = [name for name in items if isinstance(name, str)]
    patterns = maximal_patterns(geometry, names)
    cut = [program.column(stranded_of(key.machine.gpu, pattern)) for pattern in patterns]
    for name in names:
        held = {c: -n for c, p in zip(cut, patterns, strict=True) if (n := dict(p).get(name))}
        program.row({**items[name], **held}, upper=0)
    for size, counts in items.items():
        if isinstance(size, int):
            gpus |= {column: copies * size for column, copies in counts.items()}
    return _machines(program, price, {**gpus, **dict.fromkeys(cut, 1)}, key.machine.gpus)
