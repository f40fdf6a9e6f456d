"""Sources of slots: existing nodes, nodes that may be bought, and their uses.

A node has one use (`NodeUse`): mixed, one MIG profile throughout, or all GPUs divided by MPS or
time-slicing into the same number of shares: the device plugin reads one configuration per node.
Mixed nodes reserve GPUs for shares of several GPUs and assign the rest to pools of one state.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpufleet_planner.packing.problem import (
    REPLICATED,
    GpuState,
    HostRoom,
    Mode,
    PackingMachine,
    PackingProblem,
)
from gpufleet_planner.packing.slots import Pattern, Slot, maximal_patterns, slots_for


@dataclass(frozen=True, slots=True)
class NodeSource:
    """Equal nodes: bought nodes of a type, or existing nodes in the same state."""

    machine: PackingMachine
    gpus: tuple[GpuState, ...]
    most: int | None
    """Their number; None: no limit."""
    cost: int
    nodes: tuple[str, ...] = ()
    """Names, of existing nodes."""
    host: HostRoom = (None, None)

    @property
    def bought(self) -> bool:
        """Whether its nodes are bought, not there."""
        return not self.nodes


@dataclass(frozen=True, slots=True)
class GpuGroup:
    """GPUs of one source in one state."""

    source: int
    state: GpuState
    whole: bool
    """May also be taken whole."""
    profiles: frozenset[str]
    """MIG profiles that may be created."""


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One way to use a node of a source."""

    source: int
    pools: tuple[tuple[GpuGroup, int], ...] = ()
    """Pools that its GPUs go to."""
    slots: tuple[tuple[Slot, int], ...] = ()
    """Slots it offers besides: for shares of several GPUs, or the shares of divided ones."""


Wanted = frozenset[Slot]
"""The demand for one machine type: only slots that serve it are worth making."""


def wanted_of(problem: PackingProblem) -> dict[str, Wanted]:
    """The demand of the shares for each machine type."""
    shares = [share for share in problem.shares if share.count]
    return {
        name: frozenset(slot for share in shares for slot in slots_for(share, machine))
        for name, machine in problem.machines.items()
    }


def sources_of(problem: PackingProblem) -> list[NodeSource]:
    """Existing nodes, equal ones together, then nodes to buy, in the order of the file."""
    alike: dict[tuple[str, tuple[GpuState, ...], HostRoom], list[str]] = {}
    for node in problem.existing:
        states = tuple(sorted(node.gpus, key=_order))
        host = problem.machines[node.machine].host if node.host is None else node.host
        alike.setdefault((node.machine, states, host), []).append(node.name)
    found = [
        NodeSource(problem.machines[machine], states, len(names), 0, tuple(names), host)
        for (machine, states, host), names in alike.items()
    ]
    for machine in problem.machines.values():
        if machine.max_nodes != 0:
            states = (GpuState(),) * machine.gpus
            cost = problem.cost_of(machine)
            found.append(NodeSource(machine, states, machine.max_nodes, cost, host=machine.host))
    return found


def _order(state: GpuState) -> tuple[object, ...]:
    return (
        state.untouched,
        state.mig,
        state.full,
        str(state.mode or ""),
        state.replicas,
        state.taken,
        tuple((i.start, i.profile) for i in state.occupied),
    )


def choices_of(number: int, source: NodeSource, wanted: Wanted) -> Iterator[NodeUse]:
    """Every use of a node of this source that serves a requested share."""
    machine, states = source.machine, source.gpus
    divided = next((s for s in states if s.mode is not None), None)
    if divided is not None and divided.mode is not None:
        slot = Slot(machine.name, divided.mode, replicas=divided.replicas)
        free = sum(s.replicas - s.taken for s in states if s.mode is divided.mode)
        yield NodeUse(number, slots=((slot, free),))
        return
    if all(state.untouched for state in states):
        for slot in sorted(slot for slot in wanted if slot.mode in REPLICATED):
            yield NodeUse(number, slots=((slot, slot.replicas * len(states)),))
    cut = frozenset(slot.profile for slot in wanted if slot.mode is Mode.MIG)
    if not machine.single_strategy:
        yield from _mixed(number, source, wanted, cut)
        return
    present = {i.profile for state in states for i in state.occupied}
    if not present and not any(state.mig for state in states):
        yield from _mixed(number, source, wanted, frozenset())
    if any(state.full for state in states):
        return
    for profile in sorted(present or cut):
        if profile in cut and len(present) < 2:
            counts = Counter(GpuGroup(number, s, False, frozenset({profile})) for s in states)
            yield NodeUse(number, tuple(counts.items()))


def _mixed(
    number: int, source: NodeSource, wanted: Wanted, profiles: frozenset[str]
) -> Iterator[NodeUse]:
    machine = source.machine
    free = sum(state.untouched for state in source.gpus)
    whole = {slot.gpus for slot in wanted if slot.mode is Mode.WHOLE}
    for gangs in _sets(sorted(whole - {1}, reverse=True), free):
        counts: Counter[GpuGroup] = Counter()
        left = free - sum(gangs)
        for state in source.gpus:
            if state.full:
                continue
            if state.untouched:
                if left == 0:
                    continue
                left -= 1
            pool = GpuGroup(number, state, state.untouched and 1 in whole, profiles)
            if pool.whole or profiles:
                counts[pool] += 1
        slots = Counter(Slot(machine.name, Mode.WHOLE, gpus=size) for size in gangs)
        if counts or slots:
            yield NodeUse(number, tuple(counts.items()), tuple(slots.items()))


def _sets(sizes: list[int], room: int) -> Iterator[tuple[int, ...]]:
    """Every multiset of sizes that fits the room, the empty one first."""
    yield ()
    for position, size in enumerate(sizes):
        if size <= room:
            for rest in _sets(sizes[position:], room - size):
                yield (size, *rest)


def fillings(pool: GpuGroup, machine: PackingMachine) -> Iterable[Pattern | None]:
    """Possible contents of one GPU of a pool; None: it is used whole."""
    if pool.whole:
        yield None
    if machine.gpu.mig is not None and pool.profiles:
        yield from maximal_patterns(machine.gpu.mig, pool.profiles, pool.state.occupied)
