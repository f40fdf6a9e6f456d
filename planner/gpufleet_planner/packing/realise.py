"""From counts to places: nodes get their choices, GPUs their patterns, slots their shares."""

from collections import defaultdict
from dataclasses import dataclass, field

from gpufleet_planner.packing.model import ANYWHERE, ColumnCounts
from gpufleet_planner.packing.patterns import Pattern
from gpufleet_planner.packing.problem import GpuState, Mode, PackingProblem
from gpufleet_planner.packing.slots import Slot
from gpufleet_planner.packing.supply import GpuGroup, NodeSource, NodeUse
from gpufleet_planner.packing.workspace import OpenGpu, OpenNode, Workspace


@dataclass(slots=True)
class _Offer:
    """Slots of one kind that are left on one GPU, or on one node for shares of several GPUs."""

    node: OpenNode
    gpu: OpenGpu | None
    left: int


@dataclass(slots=True)
class _Realisation:
    workspace: Workspace
    plan: ColumnCounts
    offers: dict[tuple[int, Slot], list[_Offer]] = field(
        default_factory=lambda: defaultdict[tuple[int, Slot], list[_Offer]](list)
    )
    """By source of the node, or `ANYWHERE`."""
    waiting: dict[GpuGroup, list[OpenGpu]] = field(
        default_factory=lambda: defaultdict[GpuGroup, list[OpenGpu]](list)
    )

    def offer(self, source: int, slot: Slot, node: OpenNode, gpu: OpenGpu | None, n: int) -> None:
        """Note slots; where nodes are not told apart, all of a kind are one list."""
        at = source if self.plan.apart else ANYWHERE
        self.offers[at, slot].append(_Offer(node, gpu, n))


def realise(
    problem: PackingProblem, sources: list[NodeSource], plan: ColumnCounts
) -> tuple[Workspace, dict[str, int]]:
    """A workspace with every share of the plan in place, and the shares that found none.

    Some may find none only where CPUs and memory leave a plan in counts without a realisation.
    """
    made = _Realisation(Workspace(problem), plan)
    unnamed = {number: iter(source.nodes) for number, source in enumerate(sources)}
    for choice, count in plan.choices:
        source = sources[choice.source]
        for _ in range(count):
            node = (
                made.workspace.buy(source.machine)
                if source.bought
                else made.workspace.existing[next(unnamed[choice.source])]
            )
            _open(made, choice, node)
    for pool, pattern, count in plan.filled:
        for _ in range(count):
            _fill(made, pool.source, pattern, made.waiting[pool].pop(0))
    return made.workspace, _serve(made, problem, plan)


def _open(made: _Realisation, choice: NodeUse, node: OpenNode) -> None:
    """Slots of a node that do not come from a pool, and its GPUs handed to the pools."""
    for slot, count in choice.slots:
        if choice.mode is None:
            made.offer(choice.source, slot, node, None, count)
            continue
        divided = [gpu for gpu in node.gpus if gpu.state.mode is choice.mode] or node.gpus
        for gpu in divided:
            made.offer(choice.source, slot, node, gpu, choice.replicas - gpu.state.taken)
    free: dict[GpuState, list[OpenGpu]] = defaultdict(list)
    for gpu in node.gpus:
        free[gpu.state].append(gpu)
    # Shares of several GPUs take the first free ones (`put_gang` does the same).
    del free[GpuState()][: sum(choice.gangs)]
    for pool, count in choice.pools:
        for _ in range(count):
            made.waiting[pool].append(free[pool.state].pop(0))


def _fill(made: _Realisation, source: int, pattern: Pattern | None, gpu: OpenGpu) -> None:
    machine = gpu.node.machine.name
    if pattern is None:
        made.offer(source, Slot(machine, Mode.WHOLE.value), gpu.node, gpu, 1)
    for name, number in pattern or ():
        made.offer(source, Slot(machine, Mode.MIG.value, name), gpu.node, gpu, number)


def _serve(made: _Realisation, problem: PackingProblem, plan: ColumnCounts) -> dict[str, int]:
    """Put the shares into the slots, those first that take most of a node's CPUs and memory."""
    left: dict[str, int] = defaultdict(int)
    firsts: dict[tuple[int, Slot], int] = defaultdict(int)
    for name, at, slot, count in sorted(
        plan.served, key=lambda s: [-part for part in problem.by_name[s[0]].host]
    ):
        key = (at, slot)
        offers = made.offers[key]
        for _ in range(count):
            if any(problem.by_name[name].host):
                offer = _offer(made.workspace, name, offers)
            else:
                while firsts[key] < len(offers) and not offers[firsts[key]].left:
                    firsts[key] += 1
                offer = offers[firsts[key]] if firsts[key] < len(offers) else None
            if offer is None:
                left[name] += 1
                continue
            offer.left -= 1
            if offer.gpu is None:
                made.workspace.put_gang(name, offer.node, slot.gpus)
            else:
                made.workspace.put(name, slot, offer.gpu)
    return dict(left)


def _offer(workspace: Workspace, name: str, offers: list[_Offer]) -> _Offer | None:
    """The slot on the node with least CPUs and memory left of those that have enough."""
    allowed = [one for one in offers if one.left and workspace.allows(name, one.node)]
    return min(allowed, key=lambda one: [part or 0 for part in one.node.host], default=None)
