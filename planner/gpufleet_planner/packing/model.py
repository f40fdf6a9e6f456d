"""The integer program of a packing: choices of nodes, patterns of GPUs, shares in slots.

Columns: y nodes of a source used in one way, x GPUs of a pool filled with one pattern, z shares of
a kind served by one kind of slot. Its size does not depend on how many shares there are. Spread
groups are kept exactly when every node and GPU has rows of its own (`apart`), else as necessary
conditions.
"""

from collections import defaultdict
from dataclasses import dataclass

from gpufleet_planner.packing.highs import INFINITY, IntegerProgram
from gpufleet_planner.packing.patterns import Pattern
from gpufleet_planner.packing.problem import Host, Mode, PackingProblem, SpreadGroup
from gpufleet_planner.packing.slots import Slot, servable
from gpufleet_planner.packing.supply import (
    GpuGroup,
    InitialGpu,
    NodeSource,
    NodeUse,
    choices_of,
    fillings,
    wanted_of,
)

Place = tuple[int, ...]
"""Where a slot is: () anywhere on the machine type, (source,) that node, (source, pool, GPU)."""


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """Share classes that every slot and every group treats alike."""

    names: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class ColumnCounts:
    """What the program decided, in counts."""

    choices: tuple[tuple[NodeUse, int], ...]
    filled: tuple[tuple[GpuGroup, Place, Pattern | None, int], ...]
    """Pool, place of its slots, pattern (None: whole), GPUs."""
    served: tuple[tuple[str, Place, Slot, int], ...]
    """Share class, place, slot, shares."""
    apart: bool
    """Whether places tell nodes and GPUs apart."""


def place_of(source: int, choice: NodeUse, gpu: int | None) -> Place:
    """Where the slots are that a choice offers without a pool, nodes and GPUs told apart."""
    return (source,) if gpu is None else (source, -1 - choice.replicas, gpu)


class PackingProgram:
    """The program that packs every share at least cost, and what its columns mean.

    `apart`: each source is one node, with its own slots. `elastic`: shares may stay unserved, and
    only that costs.
    """

    def __init__(
        self,
        problem: PackingProblem,
        sources: list[NodeSource],
        *,
        apart: bool = False,
        elastic: bool = False,
    ) -> None:
        self.problem, self.sources, self.apart, self.elastic = problem, sources, apart, elastic
        self.program = IntegerProgram()
        self.kinds: list[ShareGroup] = []
        self.choices: list[tuple[int, NodeUse]] = []
        self.filled: list[tuple[int, GpuGroup, Place, Pattern | None]] = []
        self.served: list[tuple[int, int, Place, Slot]] = []
        """Column, kind, place, slot."""
        self.short: list[int] = []
        """Elastic: column of unserved shares by kind."""
        self.supply: dict[tuple[Place, Slot], dict[int, int]] = defaultdict(dict)
        # Group number -> place -> columns that give room to the group.
        self.node_room: dict[tuple[int, Place], dict[int, int]] = defaultdict(dict)
        self.gpu_room: dict[tuple[int, Place], dict[int, int]] = defaultdict(dict)
        self.slot_room: dict[tuple[int, Place, Slot], dict[int, int]] = defaultdict(dict)
        self._build()

    def plan(self, values: tuple[float, ...]) -> ColumnCounts:
        """Counts from the values of the columns."""
        served: list[tuple[str, Place, Slot, int]] = []
        left = {name: self.problem.by_name[name].count for k in self.kinds for name in k.names}
        for column, kind, place, slot in self.served:
            number = round(values[column])
            for name in self.kinds[kind].names:
                taken = min(number, left[name])
                if taken:
                    served.append((name, place, slot, taken))
                    left[name] -= taken
                    number -= taken
        return ColumnCounts(
            tuple((c, n) for col, c in self.choices if (n := round(values[col]))),
            tuple((p, at, t, n) for col, p, at, t in self.filled if (n := round(values[col]))),
            tuple(served),
            self.apart,
        )

    def _build(self) -> None:
        wanted = wanted_of(self.problem)
        pools: dict[tuple[GpuGroup, int], dict[int, int]] = defaultdict(dict)
        by_source: list[list[int]] = []
        for number, source in enumerate(self.sources):
            cost = 0 if self.elastic else source.cost
            columns: list[int] = []
            upper = INFINITY if source.most is None else source.most
            for choice in choices_of(number, source, wanted[source.machine.name]):
                column = self.program.column(cost, upper)
                columns.append(column)
                self.choices.append((column, choice))
                self._offer(column, source, choice)
                for pool, count in choice.pools:
                    if not self.apart:
                        pools[pool, 0][column] = count
                        continue
                    for i in range(count):
                        pools[pool, i][column] = 1
            by_source.append(columns)
        for (pool, i), giving in pools.items():
            self._fill(pool, i, giving)
        self._limits(by_source)
        kinds, fitting = self._kinds()
        self.kinds, served, short = kinds, self.served, self.short
        taking: dict[tuple[Place, Slot], dict[int, int]] = defaultdict(dict)
        for number, kind in enumerate(kinds):
            share = self.problem.by_name[kind.names[0]]
            row: dict[int, int] = {}
            for place, slot in self.supply:
                if slot in fitting[number]:
                    column = self.program.column(0, kind.count)
                    served.append((column, number, place, slot))
                    taking[place, slot][column] = 1
                    row[column] = 1
            if self.elastic:
                column = self.program.column(max(1, share.gpus), kind.count)
                short.append(column)
                row[column] = 1
            self.program.row(row, kind.count, kind.count)
        for key, giving in self.supply.items():
            if key in taking:
                self.program.row({**taking[key], **{c: -n for c, n in giving.items()}}, upper=0)
        self._spread(kinds, served)
        self._host(kinds, served)

    def _offer(self, column: int, source: NodeSource, choice: NodeUse) -> None:
        """The slots a choice offers without a pool, and the room it gives to spread groups."""
        node = place_of(choice.source, choice, None) if self.apart else ()
        for number, group in enumerate(self.problem.groups):
            if group.per_node is not None:
                room = _room(group.per_node, group, source.gpus)
                self.node_room[number, self._node(choice.source)][column] = room
        for slot, count in choice.slots:
            if choice.mode is None:
                self.supply[node, slot][column] = count
                continue
            states = [s for s in source.gpus if s.mode is choice.mode] or list(source.gpus)
            for i, state in enumerate(states):
                place = place_of(choice.source, choice, i) if self.apart else ()
                free = choice.replicas - state.taken
                giving = self.supply[place, slot]
                giving[column] = giving.get(column, 0) + free
                for number, group in enumerate(self.problem.groups):
                    if group.per_gpu is not None:
                        room = min(free, _room(group.per_gpu, group, (state,)))
                        gpu = place or self._node(choice.source)
                        self._add_room(number, gpu, place, slot, column, room)

    def _node(self, source: int) -> Place:
        if self.apart:
            return (source,)
        # Without places of their own, all nodes of a machine type share one.
        names = list(self.problem.machines)
        return (-1 - names.index(self.sources[source].machine.name),)

    def _add_room(
        self, number: int, gpu: Place, place: Place, slot: Slot, column: int, room: int
    ) -> None:
        whole = self.gpu_room[number, gpu]
        whole[column] = whole.get(column, 0) + room
        single = self.slot_room[number, place, slot]
        single[column] = single.get(column, 0) + room

    def _fill(self, pool: GpuGroup, i: int, giving: dict[int, int]) -> None:
        machine = self.sources[pool.source].machine
        row = {column: -count for column, count in giving.items()}
        place: Place = (pool.source, len(self.filled), i) if self.apart else ()
        for pattern in fillings(pool, machine):
            column = self.program.column()
            self.filled.append((column, pool, place, pattern))
            row[column] = 1
            offered = (
                {Slot(machine.name, Mode.WHOLE.value): 1}
                if pattern is None
                else {Slot(machine.name, Mode.MIG.value, name): n for name, n in pattern}
            )
            total = sum(offered.values())
            for slot, count in offered.items():
                self.supply[place, slot][column] = count
            for number, group in enumerate(self.problem.groups):
                if group.per_gpu is None:
                    continue
                most = _room(group.per_gpu, group, (pool.state,))
                gpu = place or self._node(pool.source)
                self.gpu_room[number, gpu][column] = min(total, most)
                for slot, count in offered.items():
                    self.slot_room[number, place, slot][column] = min(count, most)
        self.program.row(row, upper=0)

    def _limits(self, by_source: list[list[int]]) -> None:
        for source, columns in zip(self.sources, by_source, strict=True):
            if source.most is not None and columns:
                self.program.row(dict.fromkeys(columns, 1), upper=source.most)
        for quota in self.problem.quotas:
            entries = {
                column: source.machine.gpus
                for source, columns in zip(self.sources, by_source, strict=True)
                for column in columns
                if source.bought and source.machine.name in quota.machines
            }
            if entries:
                self.program.row(entries, upper=quota.gpus)

    def _kinds(self) -> tuple[list[ShareGroup], list[frozenset[Slot]]]:
        """Classes by what serves them and by their groups, in the order of the file."""
        alike: dict[tuple[frozenset[Slot], frozenset[str], Host], list[str]] = {}
        offered = list(dict.fromkeys(slot for _, slot in self.supply))
        for share in self.problem.shares:
            if share.count == 0:
                continue
            slots = servable(share, self.problem.machines, offered)
            groups = frozenset(g.name for g in self.problem.groups if share.name in g.members)
            alike.setdefault((slots, groups, share.host), []).append(share.name)
        classes = self.problem.by_name
        kinds = [ShareGroup(tuple(n), sum(classes[m].count for m in n)) for n in alike.values()]
        return kinds, [slots for slots, _, _ in alike]

    def _host(self, kinds: list[ShareGroup], served: list[tuple[int, int, Place, Slot]]) -> None:
        """CPUs and memory of nodes: of each where nodes are told apart, else of a machine type."""
        names = list(self.problem.machines)
        needs = [self.problem.by_name[kind.names[0]].host for kind in kinds]
        for part in range(2):
            if not any(need[part] for need in needs):
                continue
            taking: dict[Place, dict[int, int]] = defaultdict(dict)
            for column, kind, place, slot in served:
                if needs[kind][part]:
                    node = place[:1] if self.apart else (-1 - names.index(slot.machine),)
                    taking[node][column] = needs[kind][part]
            giving: dict[Place, dict[int, int]] = defaultdict(dict)
            for column, choice in self.choices:
                room = self.sources[choice.source].host[part]
                giving[self._node(choice.source)][column] = room or 0
            for node, columns in taking.items():
                self._at_most(columns, giving[node])

    def _spread(self, kinds: list[ShareGroup], served: list[tuple[int, int, Place, Slot]]) -> None:
        names = list(self.problem.machines)
        for number, group in enumerate(self.problem.groups):
            members = {i for i, kind in enumerate(kinds) if kind.names[0] in group.members}
            by_node: dict[Place, dict[int, int]] = defaultdict(dict)
            by_gpu: dict[Place, dict[int, int]] = defaultdict(dict)
            by_slot: dict[tuple[Place, Slot], dict[int, int]] = defaultdict(dict)
            for column, kind, place, slot in served:
                if kind not in members:
                    continue
                machine: Place = (-1 - names.index(slot.machine),)
                by_node[place[:1] if self.apart else machine][column] = 1
                if slot.gpus == 1:
                    by_gpu[place if self.apart else machine][column] = 1
                    by_slot[place, slot][column] = 1
            if group.per_node is not None:
                for place, taking in by_node.items():
                    self._at_most(taking, self.node_room[number, place])
            if group.per_gpu is not None:
                for place, taking in by_gpu.items():
                    self._at_most(taking, self.gpu_room[number, place])
                if not self.apart:
                    for (place, slot), taking in by_slot.items():
                        self._at_most(taking, self.slot_room[number, place, slot])

    def _at_most(self, taking: dict[int, int], giving: dict[int, int]) -> None:
        row = {**taking, **{column: -room for column, room in giving.items() if room}}
        self.program.row(row, upper=0)


def _room(most: int, group: SpreadGroup, states: tuple[InitialGpu, ...]) -> int:
    """How many more of the group may go to these GPUs together."""
    present = sum(n for state in states for name, n in state.present if name in group.members)
    return max(0, most - present)
