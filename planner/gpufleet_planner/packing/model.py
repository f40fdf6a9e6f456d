"""The integer program of a packing (choices of nodes, patterns of GPUs, shares in slots), and the
placement that its counts represent.

Columns: y nodes of a source with one use, x GPUs of a pool filled with one pattern, z shares of a
kind served by one kind of slot. Its size is independent of the number of shares. CPUs and host
memory are exact when every node has its own rows (`apart`), else they are necessary conditions
only.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpufleet_planner.packing.highs import INFINITY, IntegerProgram
from gpufleet_planner.packing.problem import GpuState, Host, Mode, PackingProblem
from gpufleet_planner.packing.slots import Pattern, Slot, servable
from gpufleet_planner.packing.supply import (
    GpuGroup,
    NodeSource,
    NodeUse,
    choices_of,
    fillings,
    wanted_of,
)
from gpufleet_planner.packing.workspace import OpenGpu, OpenNode, Workspace

ANYWHERE = -1
"""Instead of the number of a source: any node of the machine type."""


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """Share classes that every slot treats equally, and that take as much of the node."""

    names: tuple[str, ...]
    count: int


class PackingProgram:
    """The program that packs every share at least cost, and the meaning of its columns.

    `apart`: each source is one node with its own slots. `elastic`: shares may stay unserved, and
    only unserved shares cost.
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
        self.filled: list[tuple[int, GpuGroup, Pattern | None]] = []
        self.served: list[tuple[int, int, int, Slot]] = []
        """Column, kind, source or `ANYWHERE`, slot."""
        self.short: list[int] = []
        """Elastic: column of unserved shares by kind."""
        self.supply: dict[tuple[int, Slot], dict[int, int]] = defaultdict(dict)
        self._build()

    def places(self, values: tuple[float, ...]) -> list[tuple[str, int, Slot, int]]:
        """Share class, source of the node or `ANYWHERE`, slot and number of shares, from the values
        of the columns."""
        found: list[tuple[str, int, Slot, int]] = []
        left = {name: self.problem.by_name[name].count for k in self.kinds for name in k.names}
        for column, kind, at, slot in self.served:
            number = round(values[column])
            for name in self.kinds[kind].names:
                taken = min(number, left[name])
                if taken:
                    found.append((name, at, slot, taken))
                    left[name] -= taken
                    number -= taken
        return found

    def _build(self) -> None:
        wanted = wanted_of(self.problem)
        pools: dict[GpuGroup, dict[int, int]] = defaultdict(dict)
        by_source: list[list[int]] = []
        for number, source in enumerate(self.sources):
            cost = 0 if self.elastic else source.cost
            columns: list[int] = []
            upper = INFINITY if source.most is None else source.most
            for choice in choices_of(number, source, wanted[source.machine.name]):
                column = self.program.column(cost, upper)
                columns.append(column)
                self.choices.append((column, choice))
                for slot, count in choice.slots:
                    self.supply[self.at(number), slot][column] = count
                for pool, count in choice.pools:
                    pools[pool][column] = count
            by_source.append(columns)
        for pool, giving in pools.items():
            self._fill(pool, giving)
        for source, columns in zip(self.sources, by_source, strict=True):
            if source.most is not None and columns:
                self.program.row(dict.fromkeys(columns, 1), upper=source.most)
        kinds, fitting = self._kinds()
        self.kinds, served, short = kinds, self.served, self.short
        taking: dict[tuple[int, Slot], dict[int, int]] = defaultdict(dict)
        for number, kind in enumerate(kinds):
            share = self.problem.by_name[kind.names[0]]
            row: dict[int, int] = {}
            for at, slot in self.supply:
                if slot in fitting[number]:
                    column = self.program.column(0, kind.count)
                    served.append((column, number, at, slot))
                    taking[at, slot][column] = 1
                    row[column] = 1
            if self.elastic:
                column = self.program.column(max(1, share.gpus), kind.count)
                short.append(column)
                row[column] = 1
            self.program.row(row, kind.count, kind.count)
        for key, giving in self.supply.items():
            if key in taking:
                self.program.row({**taking[key], **{c: -n for c, n in giving.items()}}, upper=0)
        self._host()

    def at(self, source: int) -> int:
        """The number of a source where nodes are distinct, else `ANYWHERE`."""
        return source if self.apart else ANYWHERE

    def _fill(self, pool: GpuGroup, giving: dict[int, int]) -> None:
        machine = self.sources[pool.source].machine
        row = {column: -count for column, count in giving.items()}
        at = self.at(pool.source)
        for pattern in fillings(pool, machine):
            column = self.program.column()
            self.filled.append((column, pool, pattern))
            row[column] = 1
            for slot, count in _slots_of(machine.name, pattern):
                self.supply[at, slot][column] = count
        self.program.row(row, upper=0)

    def _kinds(self) -> tuple[list[ShareGroup], list[frozenset[Slot]]]:
        """Classes by what serves them and what they take of the node, in the order of the file."""
        alike: dict[tuple[frozenset[Slot], Host], list[str]] = {}
        offered = list(dict.fromkeys(slot for _, slot in self.supply))
        for share in self.problem.shares:
            if share.count == 0:
                continue
            slots = servable(share, self.problem.machines, offered)
            alike.setdefault((slots, share.host), []).append(share.name)
        classes = self.problem.by_name
        kinds = [ShareGroup(tuple(n), sum(classes[m].count for m in n)) for n in alike.values()]
        return kinds, [slots for slots, _ in alike]

    def _host(self) -> None:
        """Rows of CPUs and memory: for each distinct node, else for a machine type."""
        needs = [self.problem.by_name[kind.names[0]].host for kind in self.kinds]
        for part in range(2):
            rows: dict[int | str, dict[int, int]] = defaultdict(dict)
            for column, kind, at, slot in self.served:
                if needs[kind][part]:
                    rows[at if self.apart else slot.machine][column] = needs[kind][part]
            for column, choice in self.choices:
                source = self.sources[choice.source]
                node = choice.source if self.apart else source.machine.name
                if node in rows and (room := source.host[part]):
                    rows[node][column] = -room
            for row in rows.values():
                self.program.row(row, upper=0)


@dataclass(slots=True)
class _Offer:
    """Slots of one kind that are left on one GPU, or on one node for shares of several GPUs."""

    node: OpenNode
    gpu: OpenGpu | None
    left: int


def realise(model: PackingProgram, values: tuple[float, ...]) -> tuple[Workspace, dict[str, int]]:
    """A workspace with the shares that the values of the columns place, and those that found no
    place: CPUs and memory may leave counts without a realisation."""
    workspace = Workspace(model.problem)
    offers: dict[tuple[int, Slot], list[_Offer]] = defaultdict(list)
    waiting: dict[GpuGroup, list[OpenGpu]] = defaultdict(list)
    unnamed = {number: iter(source.nodes) for number, source in enumerate(model.sources)}
    for column, choice in model.choices:
        source, at = model.sources[choice.source], model.at(choice.source)
        for _ in range(round(values[column])):
            if source.bought:
                node = workspace.buy(source.machine)
            else:
                node = workspace.existing[next(unnamed[choice.source])]
            for slot, offer in _apart_from_pools(choice, node):
                offers[at, slot].append(offer)
            for pool, gpu in _of_pools(choice, node):
                waiting[pool].append(gpu)
    for column, pool, pattern in model.filled:
        for _ in range(round(values[column])):
            gpu = waiting[pool].pop(0)
            for slot, count in _slots_of(gpu.node.machine.name, pattern):
                offers[model.at(pool.source), slot].append(_Offer(gpu.node, gpu, count))
    return workspace, _serve(workspace, offers, model.places(values))


def _slots_of(machine: str, pattern: Pattern | None) -> Iterator[tuple[Slot, int]]:
    """Slots of one GPU with these contents; None: it is used whole."""
    if pattern is None:
        yield Slot(machine, Mode.WHOLE), 1
    for name, count in pattern or ():
        yield Slot(machine, Mode.MIG, name), count


def _apart_from_pools(choice: NodeUse, node: OpenNode) -> Iterator[tuple[Slot, _Offer]]:
    """Slots of a node that do not come from a pool."""
    for slot, count in choice.slots:
        if slot.mode is Mode.WHOLE:
            yield slot, _Offer(node, None, count)
            continue
        divided = [gpu for gpu in node.gpus if gpu.state.mode is slot.mode] or node.gpus
        for gpu in divided:
            yield slot, _Offer(node, gpu, slot.replicas - gpu.state.taken)


def _of_pools(choice: NodeUse, node: OpenNode) -> Iterator[tuple[GpuGroup, OpenGpu]]:
    """The GPUs of a node that go to pools."""
    free: dict[GpuState, list[OpenGpu]] = defaultdict(list)
    for gpu in node.gpus:
        free[gpu.state].append(gpu)
    # Shares of several GPUs take the first free ones (`put_gang` does the same).
    together = sum(slot.gpus * n for slot, n in choice.slots if slot.mode is Mode.WHOLE)
    del free[GpuState()][:together]
    for pool, count in choice.pools:
        yield from ((pool, free[pool.state].pop(0)) for _ in range(count))


def _serve(
    workspace: Workspace,
    offers: Mapping[tuple[int, Slot], list[_Offer]],
    places: list[tuple[str, int, Slot, int]],
) -> dict[str, int]:
    """Put the shares into the slots, largest CPU and memory request first."""
    hosts = {name: share.host for name, share in workspace.problem.by_name.items()}
    left: dict[str, int] = defaultdict(int)
    firsts: dict[tuple[int, Slot], int] = defaultdict(int)
    for name, at, slot, count in sorted(places, key=lambda s: [-part for part in hosts[s[0]]]):
        here, key = offers.get((at, slot), []), (at, slot)
        for _ in range(count):
            if any(hosts[name]):
                # On the node with least CPUs and memory left that has enough.
                allowed = (one for one in here if one.left and workspace.allows(name, one.node))
                offer = min(
                    allowed, key=lambda one: [part or 0 for part in one.node.host], default=None
                )
            else:
                while firsts[key] < len(here) and not here[firsts[key]].left:
                    firsts[key] += 1
                offer = here[firsts[key]] if firsts[key] < len(here) else None
            if offer is None:
                left[name] += 1
                continue
            offer.left -= 1
            if offer.gpu is None:
                workspace.put_gang(name, offer.node, slot.gpus)
            else:
                workspace.put(name, slot, offer.gpu)
    return dict(left)
