"""What a selection costs at least, whatever the search finds.

Every workload takes its part of some machine, so the sum of the least parts is a bound. Workloads
of different intents never share machines, and machines are bought whole, so each intent's sum is
raised to the next amount that whole machines can cost, and is no less than what its dearest
workload costs alone.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option

_WEIGHTS = tuple(n / 4 for n in range(5))
UNPRICED = 1e12
"""Micro-dollars a GPU without a price counts as: above all that have one."""
_FEW_MACHINES = 30
"""Of the cheapest kind: beyond it sums of prices lie so close that rounding gains nothing."""
_MOST_SUMS = 5_000
"""Amounts that are looked at before a bound is left as it is."""
_TOLERANCE = 1e-9


def tightest(workloads: Sequence[Sequence[Option]]) -> tuple[float, float]:
    """Micro-dollars an hour of the least parts, and the weight of compute in them. Slices weigh
    compute and memory; with one weight for all the parts of one GPU never add up to more than it,
    so the best weight counts."""
    return max(
        (sum(min(least_part(o, weight) for o in options) for options in workloads), weight)
        for weight in _WEIGHTS
    )


def dearest_alone(workloads: Sequence[Sequence[Option]]) -> float:
    """What the workload costs that is dearest at its cheapest: its machines are there at least,
    the one who else is on them."""
    return max(
        min(machine_price(option.machine) * option.machines for option in options)
        for options in workloads
    )


def whole_machines_bound(least: float, prices: Iterable[float]) -> float:
    """The smallest sum of machine prices, each any number of times, that reaches `least`; `least`
    itself where that takes too many sums to tell."""
    each = sorted({price for price in prices if price > 0})
    if not each or not 0 < least <= _FEW_MACHINES * each[0]:
        return least
    wanted = least * (1 - _TOLERANCE)
    # Sums in rising order; each sum grows only by prices from its last one on, so none comes twice.
    waiting: list[tuple[float, int]] = [(0.0, 0)]
    for _ in range(_MOST_SUMS):
        total, first = heappop(waiting)
        if total >= wanted:
            return max(total, least)
        for index in range(first, len(each)):
            heappush(waiting, (total + each[index], index))
            if total + each[index] >= wanted:
                break  # dearer ones only overshoot further
    return least


def machine_price(machine: OfferedMachine) -> float:
    """Micro-dollars an hour; one without a price counts by its GPUs."""
    return float(machine.micro_usd) if machine.micro_usd is not None else UNPRICED * machine.gpus


def least_part(option: Option, weight: float) -> float:
    """Least an option costs whatever else is on its machines."""
    share, machine = option.share, option.machine
    part = float(share.part)
    if share.slice_parts is not None:
        compute, memory = share.slice_parts
        part = weight * float(compute) + (1 - weight) * float(memory)
    return machine_price(machine) * option.devices * part / machine.gpus
