"""Lower bounds that need no solver: the exact relaxation of small programs, else volume."""

from fractions import Fraction
from math import ceil

from gpufleet.planner.packing.model import build
from gpufleet.planner.packing.problem import Mode, Problem, ShareClass
from gpufleet.planner.packing.program import INFINITY
from gpufleet.planner.packing.simplex import cover
from gpufleet.planner.packing.slots import slots_for
from gpufleet.planner.packing.supply import sources_of

_ENTRIES = 30_000
"""Rows times columns up to which the relaxation is solved in rational numbers (about a second)."""


def relaxed_bound(problem: Problem) -> int:
    """No packing costs less. The stronger of the two bounds that were worked out."""
    by_volume = volume_bound(problem)
    program = build(problem, sources_of(problem)).program
    if len(program.rows) * len(program.costs) > _ENTRIES:
        return by_volume
    columns: list[dict[int, int]] = [{} for _ in program.costs]
    demand: list[int] = []
    for number, row in enumerate(program.rows):
        # `sum <= limit` is `-sum >= -limit`; equalities are only needed as at least.
        sign = 1 if program.lowers[number] > -INFINITY else -1
        edge = program.lowers[number] if sign == 1 else program.limits[number]
        demand.append(sign * int(edge))
        for column, units in row.items():
            columns[column][number] = sign * units
    relaxed = cover(columns, program.costs, demand)
    return by_volume if relaxed is None else max(by_volume, ceil(relaxed.value))


def volume_bound(problem: Problem) -> int:
    """Every share pays its part of the memory, or of the compute, of the cheapest GPU for it."""
    memory = compute = Fraction(0)
    for share in problem.shares:
        least = [_least(problem, share, part) for part in (0, 1)]
        memory += share.count * least[0]
        compute += share.count * least[1]
    return ceil(max(memory, compute))


def _least(problem: Problem, share: ShareClass, part: int) -> Fraction:
    there = {node.machine for node in problem.existing}
    costs: list[Fraction] = []
    for machine in problem.machines.values():
        for slot in slots_for(share, machine):
            if machine.name in there:
                return Fraction(0)
            if machine.max_nodes == 0:
                continue
            size = Fraction(slot.gpus, slot.replicas)
            geometry = machine.gpu.mig
            if slot.mode == Mode.MIG and geometry is not None:
                profile = geometry.profiles[slot.profile]
                size = (
                    Fraction(profile.memory_slots, geometry.memory_slots),
                    Fraction(profile.compute_slices, geometry.compute_slices),
                )[part]
            costs.append(problem.cost_of(machine) * size / machine.gpus)
    return min(costs, default=Fraction(0))
