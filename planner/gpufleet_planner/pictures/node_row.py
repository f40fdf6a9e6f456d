"""What a packing picture shows, before anything is drawn: rows of equal nodes, GPUs, blocks."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gpufleet_planner.packing.packing import Assignment, Packing
from gpufleet_planner.packing.problem import (
    ExistingGpu,
    ExistingNode,
    Mode,
    Occupant,
    PackingMachine,
    PackingProblem,
)


@dataclass(frozen=True, slots=True)
class GpuPart:
    """Part of one GPU that something has."""

    start: Fraction
    """Where it begins, from 0 to 1."""
    size: Fraction
    owner: str | None
    """Share or workload; None: it was there already, or no one has it yet."""
    text: str
    """`1g.10gb`, `1/4`, `GPU`."""


Blocks = tuple[GpuPart, ...]


@dataclass(frozen=True, slots=True)
class PictureRow:
    """So many nodes whose GPUs hold the same."""

    count: int
    title: str
    """Machine and GPU."""
    note: str
    """Which nodes, or which pool."""
    gpus: tuple[Blocks, ...]


def packing_rows(problem: PackingProblem, packing: Packing) -> tuple[PictureRow, ...]:
    """Rows of a packing: equal nodes once; bought before there, large before small, many first."""
    there = {node.name: node for node in problem.existing}
    machine_of = {node.name: problem.machines[node.machine] for node in packing.nodes}
    loads: dict[str, list[list[GpuPart]]] = {}
    for node in packing.nodes:
        if node.name in there:
            loads[node.name] = _occupied(there[node.name], machine_of[node.name])
        else:
            loads[node.name] = [[] for _ in range(machine_of[node.name].gpus)]
    for share in packing.assignments:
        for gpu in share.gpus:
            taken = loads[share.node][gpu]
            taken.append(_assigned(share, machine_of[share.node], len(taken)))
    groups: dict[tuple[str, bool, tuple[Blocks, ...]], list[str]] = defaultdict(list)
    for node in packing.nodes:
        gpus = tuple(tuple(sorted(blocks, key=_place)) for blocks in loads[node.name])
        groups[node.machine, node.existing, gpus].append(node.name)
    ordered = sorted(
        groups.items(),
        key=lambda group: (group[0][1], -len(group[0][2]), group[0][0], -len(group[1])),
    )
    return tuple(
        PictureRow(
            len(names),
            f"{machine} ({problem.machines[machine].gpu.key})",
            f"{'there already: ' if existing else ''}{_few(names)}",
            gpus,
        )
        for (machine, existing, gpus), names in ordered
    )


def _occupied(node: ExistingNode, machine: PackingMachine) -> list[list[GpuPart]]:
    found = [
        [_occupant(gpu, o, i, machine) for i, o in enumerate(gpu.occupants)] for gpu in node.gpus
    ]
    return [*found, *([] for _ in range(machine.gpus - len(found)))]


def _occupant(
    gpu: ExistingGpu, occupant: Occupant, before: int, machine: PackingMachine
) -> GpuPart:
    if occupant.profile is not None and occupant.start is not None:
        return _slice(machine, occupant.profile, occupant.start, occupant.share)
    if occupant.mode is Mode.WHOLE:
        return GpuPart(Fraction(0), Fraction(1), occupant.share, "GPU")
    return _part(before, gpu.replicas or 1, occupant.share)


def _assigned(share: Assignment, machine: PackingMachine, before: int) -> GpuPart:
    if share.profile is not None and share.start is not None:
        return _slice(machine, share.profile, share.start, share.share)
    if share.mode is Mode.WHOLE:
        text = "GPU" if len(share.gpus) == 1 else f"1 of {len(share.gpus)} GPUs"
        return GpuPart(Fraction(0), Fraction(1), share.share, text)
    return _part(before, share.replicas, share.share)


def _slice(machine: PackingMachine, profile: str, start: int, owner: str | None) -> GpuPart:
    assert machine.gpu.mig is not None
    slots = machine.gpu.mig.memory_slots
    size = machine.gpu.mig.profiles[profile].memory_slots
    return GpuPart(Fraction(start, slots), Fraction(size, slots), owner, profile)


def _part(number: int, replicas: int, owner: str | None) -> GpuPart:
    return GpuPart(Fraction(number, replicas), Fraction(1, replicas), owner, f"1/{replicas}")


def _place(block: GpuPart) -> Fraction:
    return block.start


def _few(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, {names[1]}{', ...' * (len(names) > 2)}"
