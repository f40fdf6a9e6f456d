"""What a selection costs at least, whatever the search finds.

Every workload takes its part of some machine, so the sum of the least parts is a bound, and no less
than what the dearest workload costs alone. Workloads of different intents never share machines.
"""

from collections.abc import Sequence

from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option

_WEIGHTS = tuple(n / 4 for n in range(5))
UNPRICED = 1e12
"""Micro-dollars a GPU without a price counts as: above all that have one."""


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
