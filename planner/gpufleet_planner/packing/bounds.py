"""Lower bounds of the cost: by volume, and raised to what whole nodes can cost."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, gcd

from gpufleet.catalogue.gpu import MigGeometry, MigProfile
from gpufleet_planner.packing.problem import Mode, PackingMachine, PackingProblem, ShareClass
from gpufleet_planner.packing.slots import Slot, host_parts, slots_for

TOLERANCE = 1e-8
"""Relative error allowed to the solver's bound, which is not an exact number."""


def volume_bound(problem: PackingProblem) -> int:
    """No packing costs less: every share pays its part of the cheapest GPU that can hold it.

    The part is measured in three ways, and the largest sum is the bound.
    """
    totals = [
        sum(share.count * _least(problem, share, part) for share in problem.shares)
        for part in _PARTS
    ]
    totals += [_least_host(problem, part) for part in range(2)]
    return whole_nodes(problem, max(totals))


def whole_nodes(problem: PackingProblem, bound: float | Fraction) -> int:
    """The bound raised to the next amount that nodes can cost together."""
    step = 0
    for machine in problem.machines.values():
        if machine.max_nodes != 0:
            step = gcd(step, problem.cost_of(machine))
    if step == 0:
        return 0
    slack = max(1e-6 * step, TOLERANCE * bound)
    return ceil((bound - slack) / step) * step if bound > slack else 0


def _memory(profile: MigProfile, geometry: MigGeometry) -> Fraction:
    return Fraction(profile.memory_slots, geometry.memory_slots)


def _compute(profile: MigProfile, geometry: MigGeometry) -> Fraction:
    return Fraction(profile.compute_slices, geometry.compute_slices)


def _alone(profile: MigProfile, geometry: MigGeometry) -> Fraction:
    """1 for more than half of the compute slices, of which no GPU holds two, else 0."""
    return Fraction(2 * profile.compute_slices > geometry.compute_slices)


_PARTS = (_memory, _compute, _alone)


def _least(
    problem: PackingProblem, share: ShareClass, part: Callable[[MigProfile, MigGeometry], Fraction]
) -> Fraction:
    """The least cost of one share, 0 where an existing node can hold it."""
    existing = {node.machine for node in problem.existing}
    costs: list[Fraction] = []
    for machine in problem.machines.values():
        for slot in slots_for(share, machine):
            if machine.name in existing:
                return Fraction(0)
            if machine.max_nodes != 0:
                gpus = _gpus(slot, machine, part)
                costs.append(problem.cost_of(machine) * gpus / machine.gpus)
    return min(costs, default=Fraction(0))


def _least_host(problem: PackingProblem, part: int) -> Fraction:
    """The same by a node's CPUs or memory."""
    total = Fraction(0)
    for share in problem.shares:
        costs = [
            Fraction(0)
            if any(node.machine == machine.name for node in problem.existing)
            else problem.cost_of(machine) * host_parts(share.host, machine.host)[part]
            for machine in problem.machines.values()
            if slots_for(share, machine)
        ]
        total += share.count * min(costs, default=Fraction(0))
    return total


def _gpus(
    slot: Slot, machine: PackingMachine, part: Callable[[MigProfile, MigGeometry], Fraction]
) -> Fraction:
    geometry = machine.gpu.mig
    if slot.mode == Mode.MIG and geometry is not None:
        return part(geometry.profiles[slot.profile], geometry)
    return Fraction(slot.gpus, slot.replicas)
