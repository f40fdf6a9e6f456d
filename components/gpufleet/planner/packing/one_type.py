"""One machine type, nothing there yet, no limits: exact by patterns alone, without a solver.

Two covers follow each other: MIG instances onto GPUs, then GPUs and shares of several GPUs onto
nodes. Fewer GPUs never need more nodes, so the two together are exact.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from gpufleet.planner.packing.cover import cover_demand
from gpufleet.planner.packing.patterns import maximal_patterns
from gpufleet.planner.packing.problem import REPLICATED, Machine, Mode, Problem
from gpufleet.planner.packing.slots import Slot, slots_for
from gpufleet.planner.packing.workspace import OpenGpu, Workspace


@dataclass(frozen=True, slots=True)
class Exact:
    """A packing onto one machine type."""

    workspace: Workspace
    bound: int
    """Least cost of any packing."""
    proven: bool
    """Whether its cost is the bound."""


@dataclass(slots=True)
class _Demand:
    """Shares by the one slot that serves each, in the order of the file."""

    slots: Counter[Slot]
    queues: dict[Slot, list[str]]


def solve(problem: Problem) -> Exact | None:
    """The exact packing, or None where the problem is not of this kind or a limit is in the way."""
    buyable = [m for m in problem.machines.values() if m.max_nodes != 0]
    if len(buyable) != 1 or problem.existing or problem.groups or problem.quotas:
        return None
    machine = buyable[0]
    demand = _demand(problem, machine)
    if demand is None:
        return None
    mig = {s.profile: n for s, n in demand.slots.items() if s.mode == Mode.MIG}
    if machine.single_strategy and mig:
        return None
    divided = [s for s in demand.slots if s.mode in REPLICATED]
    if len({s.mode for s in divided}) != len(divided):
        return None  # shares of several sizes may join: that is a choice of its own
    gpus, least_gpus = _cut(machine, mig)
    sizes = Counter({s.gpus: n for s, n in demand.slots.items() if s.mode == Mode.WHOLE})
    nodes, least_nodes = _group(machine, sizes + Counter({1: len(gpus)}), sizes, least_gpus)
    for slot in divided:
        least_nodes += -(-demand.slots[slot] // (slot.replicas * machine.gpus))
    workspace = Workspace(problem)
    _place(workspace, machine, demand, nodes, gpus)
    total = len(workspace.nodes)
    if machine.max_nodes is not None and total > machine.max_nodes:
        return None
    cost = problem.cost_of(machine)
    return Exact(workspace, least_nodes * cost, total == least_nodes)


def _demand(problem: Problem, machine: Machine) -> _Demand | None:
    counts: Counter[Slot] = Counter()
    queues: dict[Slot, list[str]] = defaultdict(list)
    for share in problem.shares:
        if not share.count:
            continue
        slots = slots_for(share, machine)
        if len(slots) != 1:
            return None
        counts[slots[0]] += share.count
        queues[slots[0]] += [share.name] * share.count
    return _Demand(counts, {slot: names[::-1] for slot, names in queues.items()})


def _cut(machine: Machine, mig: dict[str, int]) -> tuple[list[tuple[tuple[str, int], ...]], int]:
    """A pattern for each GPU that is cut, alike ones together, and how many are needed at least."""
    geometry = machine.gpu.mig
    if geometry is None or not mig:
        return [], 0
    names = [name for name in geometry.profiles if name in mig]
    patterns = maximal_patterns(geometry, names)
    vectors = [tuple(dict(pattern).get(name, 0) for name in names) for pattern in patterns]
    found = cover_demand(vectors, tuple(mig[name] for name in names))
    assert found is not None, "every profile of a geometry fits an empty GPU"
    cut = [p for p, count in zip(patterns, found.bins, strict=True) for _ in range(count)]
    return cut, found.bound


def _group(
    machine: Machine, items: Counter[int], sizes: Counter[int], least_gpus: int
) -> tuple[list[dict[int, int]], int]:
    """Sizes of the shares on each node, and how many nodes are needed at least."""
    kinds = sorted(size for size, count in items.items() if count)
    if not kinds:
        return [], 0
    patterns = list(_full(kinds, machine.gpus))
    found = cover_demand(patterns, tuple(items[k] for k in kinds))
    least = cover_demand(patterns, tuple(sizes[k] + (least_gpus if k == 1 else 0) for k in kinds))
    assert found is not None
    assert least is not None
    nodes = [
        dict(zip(kinds, pattern, strict=True))
        for pattern, count in zip(patterns, found.bins, strict=True)
        for _ in range(count)
    ]
    return nodes, least.bound


def _full(kinds: list[int], room: int) -> list[tuple[int, ...]]:
    """Multisets of sizes that fit a node and to which none can be added."""
    found: list[tuple[int, ...]] = []

    def extend(position: int, counts: tuple[int, ...], left: int) -> None:
        if position == len(kinds):
            if left < kinds[0]:
                found.append(counts)
            return
        for count in range(left // kinds[position] + 1):
            extend(position + 1, (*counts, count), left - count * kinds[position])

    extend(0, (), room)
    return found


def _place(
    workspace: Workspace,
    machine: Machine,
    demand: _Demand,
    nodes: list[dict[int, int]],
    cut: list[tuple[tuple[str, int], ...]],
) -> None:
    patterns = cut[::-1]
    for sizes in nodes:
        node = workspace.buy(machine)
        for size in sorted(sizes, reverse=True):
            queue = demand.queues.get(Slot(machine.name, Mode.WHOLE.value, gpus=size), [])
            for _ in range(sizes[size]):
                if size > 1 and queue:
                    workspace.put_gang(queue.pop(), node, size)
        for gpu in node.gpus:
            if gpu.whole is not None or not sizes.get(1):
                continue
            _use(workspace, machine, demand, gpu, patterns)
    for slot, queue in demand.queues.items():
        while slot.mode in REPLICATED and queue:
            node = workspace.buy(machine)
            for gpu in node.gpus:
                for _ in range(slot.replicas):
                    if queue:
                        workspace.put(queue.pop(), slot, gpu)
    assert not any(demand.queues.values()), "every share of the demand has its place"


def _use(
    workspace: Workspace,
    machine: Machine,
    demand: _Demand,
    gpu: OpenGpu,
    patterns: list[tuple[tuple[str, int], ...]],
) -> None:
    """Cut the GPU after the next pattern, or give it whole to the next share that wants that."""
    if patterns:
        for profile, count in patterns.pop():
            slot = Slot(machine.name, Mode.MIG.value, profile)
            queue = demand.queues[slot]
            for _ in range(min(count, len(queue))):
                workspace.put(queue.pop(), slot, gpu)
        return
    slot = Slot(machine.name, Mode.WHOLE.value)
    queue = demand.queues.get(slot)
    if queue:
        workspace.put(queue.pop(), slot, gpu)
