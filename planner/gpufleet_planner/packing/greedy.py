"""The heuristic: largest shares first, each in the place that wastes least. It needs no solver.

It respects the same limits as the exact methods (nodes, strategies, present instances), but does
not guarantee the least cost: the lower bound limits the difference.
"""

from collections import Counter
from fractions import Fraction
from heapq import heapify, heappop, heappush

from gpufleet_planner.packing.problem import (
    REPLICATED,
    Mode,
    PackingMachine,
    PackingProblem,
    ShareClass,
)
from gpufleet_planner.packing.slots import (
    Slot,
    host_parts,
    open_patterns,
    proof,
    slot_parts,
    slots_for,
)
from gpufleet_planner.packing.workspace import OpenGpu, OpenNode, Workspace

_Entry = tuple[tuple[int, ...], int, int, Slot]
"""Score, number of the node, index of the GPU, slot."""


def place_rest(
    workspace: Workspace, problem: PackingProblem, left: dict[str, int]
) -> dict[str, int]:
    """Place what is left into the workspace, buying nodes where needed. Gives what found no place.

    Nothing that was placed before is moved.
    """
    alike: dict[tuple[object, ...], list[str]] = {}
    first: dict[tuple[object, ...], ShareClass] = {}
    for name, count in left.items():
        share = problem.by_name[name]
        slots = tuple(s for m in problem.machines.values() for s in slots_for(share, m))
        key = (slots, share.mode, share.host)
        alike.setdefault(key, []).extend([name] * count)
        first.setdefault(key, share)

    def size(key: tuple[object, ...]) -> Fraction:
        """GPUs of one share, by the smallest slot that serves it."""
        slots = (slot for m in problem.machines.values() for slot in slots_for(first[key], m))
        sizes = (_slot_size(slot, problem.machines[slot.machine]) for slot in slots)
        return min(sizes, default=Fraction(0))

    order = sorted(
        first, key=lambda k: (-size(k), [-part for part in first[k].host], first[k].name)
    )
    unplaced: Counter[str] = Counter()
    for key in order:
        unplaced.update(_place_class(workspace, problem, first[key], alike[key][::-1]))
    return dict(unplaced)


def _slot_size(slot: Slot, machine: PackingMachine) -> Fraction:
    return max(slot_parts(slot, machine)[:2])


def _place_class(
    workspace: Workspace, problem: PackingProblem, share: ShareClass, names: list[str]
) -> list[str]:
    """Place equal shares, last name first; returns those without a place."""
    search = _Search(workspace, problem, share)
    heap = [e for number, node in enumerate(workspace.nodes) for e in search.entries(number, node)]
    heapify(heap)
    while names:
        found = _next_place(workspace, search, share, heap)
        if found is None:
            machine = _machine_to_buy(workspace, problem, share)
            if machine is None:
                break
            node = workspace.buy(machine)
            heap = search.entries(len(workspace.nodes) - 1, node)
            heapify(heap)
            if not heap:
                break
            continue
        _, number, index, slot = found
        gpu = workspace.nodes[number].gpus[index]
        if slot.gpus > 1:
            workspace.put_gang(names.pop(), gpu.node, slot.gpus)
        else:
            workspace.put(names.pop(), slot, gpu)
        again = search.entry(slot, number, gpu)
        if again is not None:
            heappush(heap, again)
    return names


def _next_place(
    workspace: Workspace, search: "_Search", share: ShareClass, heap: list[_Entry]
) -> _Entry | None:
    """The place with the best current score. A place that no longer fits is removed for good."""
    while heap:
        entry = heappop(heap)
        _, number, index, slot = entry
        node = workspace.nodes[number]
        now = search.entry(slot, number, node.gpus[index])
        if now is None or not workspace.allows(share.name, node):
            continue
        if heap and now != entry and now > heap[0]:
            heappush(heap, now)
            continue
        return now
    return None


class _Search:
    """Possible places of shares of one class."""

    def __init__(self, workspace: Workspace, problem: PackingProblem, share: ShareClass) -> None:
        self._workspace = workspace
        self._share = share
        self._wanted = frozenset(s.profile for s in problem.shares if s.profile is not None)
        self._slots: dict[str, list[Slot]] = {}
        self._sizes: dict[Slot, int] = {}
        for machine in problem.machines.values():
            self._slots[machine.name] = list(slots_for(share, machine))
            for slot in self._slots[machine.name]:
                size = _slot_size(slot, machine)
                self._sizes[slot] = size.numerator * 5040 // size.denominator

    def entries(self, number: int, node: OpenNode) -> list[_Entry]:
        """Every place on a node with its score."""
        slots = self._slots[node.machine.name]
        if slots and self._share.mode in REPLICATED and node.mode is not None:
            # A divided node serves what allows as many replicas as it has, or more.
            if node.mode is not self._share.mode or node.replicas > slots[0].replicas:
                return []
            slots = [Slot(node.machine.name, node.mode, replicas=node.replicas)]
        gpus = node.gpus[:1] if self._share.gpus > 1 else node.gpus
        found = [self.entry(slot, number, gpu) for slot in slots for gpu in gpus]
        return [entry for entry in found if entry is not None]

    def entry(self, slot: Slot, number: int, gpu: OpenGpu) -> _Entry | None:
        """The place with its score, or None when the slot does not fit there any more."""
        node = gpu.node
        if slot.gpus > 1:  # the node with fewest free ones, so that whole nodes stay whole
            free = len(self._workspace.free_gpus(node))
            return None if free < slot.gpus else ((free,), number, gpu.index, slot)
        if not self._workspace.fits(slot, gpu):
            return None
        growth = 0
        geometry = node.machine.gpu.mig
        if slot.mode is Mode.MIG and geometry is not None:
            there, wanted = gpu.state.occupied, self._wanted
            now = gpu.pattern(geometry)
            more = tuple((n, dict(now).get(n, 0) + (n == slot.profile)) for n in geometry.profiles)
            after = proof(geometry, tuple(row for row in more if row[1]), there).instances
            before = open_patterns(geometry, there + gpu.placed(geometry), wanted)
            growth = before - open_patterns(geometry, there + after, wanted)
        untouched = not (gpu.instances or gpu.clients) and gpu.state.untouched
        free = sum(g.free_whole for g in node.gpus)
        size = self._sizes.get(slot, 5040 // slot.replicas)
        return ((size, int(untouched), growth, free), number, gpu.index, slot)


def _machine_to_buy(
    workspace: Workspace, problem: PackingProblem, share: ShareClass
) -> PackingMachine | None:
    """The machine type with the lowest cost of one such share on a full node."""
    ranked: list[tuple[Fraction, str]] = []
    for machine in problem.machines.values():
        slots = slots_for(share, machine)
        if slots and machine.max_nodes != 0 and workspace.may_buy(machine):
            size = min(_slot_size(slot, machine) for slot in slots) / machine.gpus
            part = max(size, *host_parts(share.host, machine.host))
            ranked.append((problem.cost_of(machine) * part, machine.name))
    return problem.machines[min(ranked)[1]] if ranked else None
