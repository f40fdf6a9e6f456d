"""From counts to places: nodes get their choices, GPUs their patterns, slots their shares."""

from collections import defaultdict
from dataclasses import dataclass, field

from gpufleet_planner.packing.model import ColumnCounts, Place, place_of
from gpufleet_planner.packing.patterns import Pattern
from gpufleet_planner.packing.problem import Mode, PackingProblem
from gpufleet_planner.packing.slots import Slot
from gpufleet_planner.packing.supply import GpuGroup, InitialGpu, NodeSource, NodeUse
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
    offers: dict[tuple[Place, Slot], list[_Offer]] = field(
        default_factory=lambda: defaultdict[tuple[Place, Slot], list[_Offer]](list)
    )
    waiting: dict[GpuGroup, list[OpenGpu]] = field(
        default_factory=lambda: defaultdict[GpuGroup, list[OpenGpu]](list)
    )

    def offer(self, place: Place, slot: Slot, node: OpenNode, gpu: OpenGpu | None, n: int) -> None:
        """Note slots; without places of their own, all of a kind are one list."""
        self.offers[place if self.plan.apart else (), slot].append(_Offer(node, gpu, n))


def realise(
    problem: PackingProblem, sources: list[NodeSource], plan: ColumnCounts
) -> tuple[Workspace, dict[str, int]]:
    """A workspace with every share of the plan in place, and the shares that found none.

    Some may find none only where spread groups leave a plan in counts without a realisation.
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
    for pool, place, pattern, count in plan.filled:
        for _ in range(count):
            _fill(made, place, pattern, made.waiting[pool].pop(0))
    return made.workspace, _serve(made, problem, plan)


def _open(made: _Realisation, choice: NodeUse, node: OpenNode) -> None:
    """Slots of a node that do not come from a pool, and its GPUs handed to the pools."""
    for slot, count in choice.slots:
        if choice.mode is None:
            made.offer(place_of(choice.source, choice, None), slot, node, None, count)
            continue
        divided = [gpu for gpu in node.gpus if gpu.state.mode is choice.mode] or node.gpus
        for i, gpu in enumerate(divided):
            left = choice.replicas - gpu.state.taken
            made.offer(place_of(choice.source, choice, i), slot, node, gpu, left)
    free: dict[InitialGpu, list[OpenGpu]] = defaultdict(list)
    for gpu in node.gpus:
        free[gpu.state].append(gpu)
    # Shares of several GPUs take the first free ones (`put_gang` does the same).
    del free[InitialGpu()][: sum(choice.gangs)]
    for pool, count in choice.pools:
        for _ in range(count):
            made.waiting[pool].append(free[pool.state].pop(0))


def _fill(made: _Realisation, place: Place, pattern: Pattern | None, gpu: OpenGpu) -> None:
    machine = gpu.node.machine.name
    if pattern is None:
        made.offer(place, Slot(machine, Mode.WHOLE.value), gpu.node, gpu, 1)
        return
    for name, number in pattern:
        made.offer(place, Slot(machine, Mode.MIG.value, name), gpu.node, gpu, number)


def _serve(made: _Realisation, problem: PackingProblem, plan: ColumnCounts) -> dict[str, int]:
    """Put the shares into the slots; those of spread groups first, where there is least choice,
    then those that take most of a node's CPUs and memory."""
    spread = {name for group in problem.groups for name in group.members}
    host = {share.name: share.host for share in problem.shares}
    left: dict[str, int] = defaultdict(int)
    firsts: dict[tuple[Place, Slot], int] = defaultdict(int)
    for name, place, slot, count in sorted(
        plan.served, key=lambda s: (s[0] not in spread, [-part for part in host[s[0]]])
    ):
        key = (place, slot)
        offers = made.offers[key]
        for _ in range(count):
            if any(host[name]) or name in spread:
                offer = _offer(made.workspace, name, offers, any(host[name]))
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


def _offer(workspace: Workspace, name: str, offers: list[_Offer], host: bool) -> _Offer | None:
    """Among those that spread groups, CPUs and memory allow: the slot on the node with least CPUs
    and memory left where shares take some, else the one whose GPU has most of its kind left."""
    allowed = [o for o in offers if o.left and workspace.allows(name, o.node, o.gpu)]
    if host:
        return min(allowed, key=lambda one: [part or 0 for part in one.node.host], default=None)
    return max(allowed, key=lambda one: one.left, default=None)
