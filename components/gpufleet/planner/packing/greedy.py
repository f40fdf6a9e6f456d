"""The heuristic: largest shares first, each where it spoils least. Always an answer, no solver.

It honours everything the exact methods honour (quotas, spread groups, strategies, what is there),
but does not promise the least cost: the bound beside it says how far it may be off.
"""

from fractions import Fraction
from heapq import heapify, heappop, heappush

from gpufleet.planner.packing.fragmentation import best_start, expected_mix
from gpufleet.planner.packing.patterns import state_of
from gpufleet.planner.packing.problem import REPLICATED, Machine, Mode, Problem, ShareClass
from gpufleet.planner.packing.slots import Slot, most_replicas, slots_for
from gpufleet.planner.packing.workspace import OpenGpu, OpenNode, Workspace


def place_rest(workspace: Workspace, problem: Problem, left: dict[str, int]) -> dict[str, int]:
    """Place what is left into the workspace, buying nodes where needed. Gives what found no place.

    Nothing that was placed before is moved.
    """
    unplaced: dict[str, int] = {}
    demand = {n: c for n, c in left.items() if c}
    order = sorted(
        (problem.by_name[name] for name in demand),
        key=lambda share: (-_size(share, problem), not _in_group(share, problem), share.name),
    )
    for share in order:
        missing = _place_class(workspace, problem, share, demand[share.name])
        if missing:
            unplaced[share.name] = missing
    return unplaced


def _in_group(share: ShareClass, problem: Problem) -> bool:
    return any(share.name in group.members for group in problem.groups)


def _size(share: ShareClass, problem: Problem) -> Fraction:
    """GPUs of one share, by the smallest slot that serves it."""
    sizes = [
        _slot_size(slot, machine)
        for machine in problem.machines.values()
        for slot in slots_for(share, machine)
    ]
    return min(sizes, default=Fraction(0))


def _slot_size(slot: Slot, machine: Machine) -> Fraction:
    if slot.mode == Mode.MIG:
        geometry = machine.gpu.mig
        assert geometry is not None
        profile = geometry.profiles[slot.profile]
        return max(
            Fraction(profile.memory_slots, geometry.memory_slots),
            Fraction(profile.compute_slices, geometry.compute_slices),
        )
    if slot.mode == Mode.WHOLE:
        return Fraction(slot.gpus)
    return Fraction(1, slot.replicas)


def _slots_on(share: ShareClass, node: OpenNode) -> list[Slot]:
    """Slots of this node that serve the share, smallest first."""
    machine = node.machine
    if share.mode in REPLICATED and node.mode is not None:
        if node.mode is share.mode and node.replicas <= most_replicas(share, machine):
            if share.machines is not None and machine.name not in share.machines:
                return []
            return [Slot(machine.name, node.mode.value, replicas=node.replicas)]
        return []
    return sorted(slots_for(share, machine), key=lambda slot: (_slot_size(slot, machine), slot))


def _place_class(workspace: Workspace, problem: Problem, share: ShareClass, count: int) -> int:
    """Place shares of one class; gives how many found no place."""
    if share.mode is Mode.WHOLE and share.gpus > 1:
        return _place_gangs(workspace, problem, share, count)
    heap = [
        entry
        for number, node in enumerate(workspace.nodes)
        for entry in _entries(workspace, problem, share, number, node)
    ]
    heapify(heap)
    while count:
        while heap:
            _, number, index, slot = entry = heappop(heap)
            node = workspace.nodes[number]
            gpu = node.gpus[index]
            now = _entry(workspace, problem, slot, number, gpu)
            if now is None or not workspace.spread_allows(share.name, node, gpu):
                continue
            if heap and now > heap[0] and now != entry:
                heappush(heap, now)
                continue
            workspace.put(share.name, slot, gpu)
            count -= 1
            again = _entry(workspace, problem, slot, number, gpu)
            if again is not None:
                heappush(heap, again)
            break
        else:
            machine = _machine_to_buy(workspace, problem, share)
            if machine is None:
                return count
            node = workspace.buy(machine)
            heap = _entries(workspace, problem, share, len(workspace.nodes) - 1, node)
            heapify(heap)
            if not heap:
                return count
    return 0


_Entry = tuple[tuple[int, ...], int, int, Slot]
"""Score, number of the node, index of the GPU, slot."""


def _entries(
    workspace: Workspace, problem: Problem, share: ShareClass, number: int, node: OpenNode
) -> list[_Entry]:
    slots = _slots_on(share, node)
    found = [_entry(workspace, problem, slot, number, gpu) for slot in slots for gpu in node.gpus]
    return [entry for entry in found if entry is not None]


def _entry(
    workspace: Workspace, problem: Problem, slot: Slot, number: int, gpu: OpenGpu
) -> _Entry | None:
    """The place with its score, or None when the slot does not fit there any more."""
    if not workspace.fits(slot, gpu):
        return None
    node = gpu.node
    size = _slot_size(slot, node.machine)
    growth = 0
    if slot.mode == Mode.MIG:
        geometry = node.machine.gpu.mig
        assert geometry is not None
        expected = expected_mix(geometry, _wanted(problem))
        used, present = state_of(geometry, gpu.state.occupied + gpu.placed(geometry))
        best = best_start(geometry, used, present, slot.profile, expected)
        growth = best[0] if best is not None else 0
    touched = bool(gpu.instances or gpu.clients or not gpu.state.untouched)
    free = sum(g.free_whole for g in node.gpus)
    score = (size.numerator * 5040 // size.denominator, not touched, growth, free)
    return (tuple(int(s) for s in score), number, gpu.index, slot)


def _wanted(problem: Problem) -> dict[str, int]:
    counts: dict[str, int] = {}
    for share in problem.shares:
        if share.profile is not None:
            counts[share.profile] = counts.get(share.profile, 0) + share.count
    return counts


def _place_gangs(workspace: Workspace, problem: Problem, share: ShareClass, count: int) -> int:
    while count:
        fitting: list[tuple[int, int]] = []
        for number, node in enumerate(workspace.nodes):
            if not slots_for(share, node.machine):
                continue
            free = len(workspace.free_gpus(node))
            if free >= share.gpus and workspace.spread_allows(share.name, node, None):
                fitting.append((free, number))
        if fitting:
            workspace.put_gang(share.name, workspace.nodes[min(fitting)[1]], share.gpus)
        else:
            machine = _machine_to_buy(workspace, problem, share)
            if machine is None:
                return count
            node = workspace.buy(machine)
            if not workspace.spread_allows(share.name, node, None):
                return count
            workspace.put_gang(share.name, node, share.gpus)
        count -= 1
    return 0


def _machine_to_buy(workspace: Workspace, problem: Problem, share: ShareClass) -> Machine | None:
    """The machine type on which one such share costs least when a node is full of them."""
    ranked: list[tuple[Fraction, str]] = []
    for machine in problem.machines.values():
        slots = slots_for(share, machine)
        if slots and machine.max_nodes != 0 and workspace.may_buy(machine):
            size = min(_slot_size(slot, machine) for slot in slots)
            ranked.append((problem.cost_of(machine) * size / machine.gpus, machine.name))
    return problem.machines[min(ranked)[1]] if ranked else None
