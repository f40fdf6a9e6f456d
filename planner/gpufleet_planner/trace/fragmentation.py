"""Scores of nodes by the free GPUs that a placement makes unusable.

The free GPUs of a node that a task cannot use are a fragment: all of them where CPU, host memory,
the GPU model or the number of GPUs is not sufficient, else the GPUs with too little left. Its
expectation over the mix of requests is the fragmentation of the node, and a task is placed where
it grows least (fragmentation gradient descent: Weng et al., "Beware of Fragmentation", USENIX ATC
2023). Differences from the published program: the growth is not rounded; host memory counts;
large requests, and requests with little room left in the cluster, have more weight; equal growth
is decided by the tightest fit.

The scores of all shapes on a node depend only on its state: they are computed together when a
node changes, and an arrival reads one row.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpufleet_planner.trace.read import WHOLE_GPU, TaskShape, TraceNode

_COVERED = 0.97
"""Part of the mix whose shapes are counted with, heaviest first."""
_MOST_TYPICAL = 80
"""Maximum number of shapes in the mix."""
_SIZE_POWER = 0.5
"""Weight of a request by its GPUs: 0 counts tasks (as published: best on an overfull cluster), 1
their GPUs (best where all just fit). This and the next two were chosen on generated traces of 1.0
and 1.3 times the capacity."""
_SCARCITY_POWER = 1.5
"""The weight of a request is the inverse of this power of the part of the capacity with room."""
_SCARCITY_FLOOR = 0.003
"""Part of the capacity below which less room no longer increases a request's weight."""
_MOST_REMEMBERED = 4096
"""Sets of free GPUs whose options are kept."""
_TIGHTNESS = 5.0
"""Milli-GPUs of growth that a whole free node of CPU and GPU counts as. Only decides between
placements of nearly equal growth."""


@dataclass(slots=True)
class NodeState:
    """Free resources of a node."""

    cpu_milli: int
    memory_mib: int
    free: list[int]
    """Milli-GPUs left, by GPU index."""


class ShapeTable:
    """Shapes as columns of numbers, but for their host memory."""

    def __init__(self, mix: Counter[TaskShape], models: Iterable[str]) -> None:
        import numpy as np

        self.np: Any = np
        memory: dict[TaskShape, int] = {}
        rows: Counter[TaskShape] = Counter()
        for shape, count in mix.items():
            row = replace(shape, memory_mib=0)
            rows[row] += count
            memory[row] = memory.get(row, 0) + shape.memory_mib * count
        shapes = list(rows)
        self.row = {shape: i for i, shape in enumerate(shapes)}
        self.mix = {replace(s, memory_mib=memory[s] // n): n for s, n in rows.items()}
        """Number of tasks of each request, with the mean of their host memory."""
        self.cpu: Any = np.array([s.cpu_milli for s in shapes], dtype=np.int64)
        self.gpus: Any = np.array([s.gpus for s in shapes], dtype=np.int64)
        self.milli: Any = np.array([s.milli for s in shapes], dtype=np.int64)
        self.total: Any = self.gpus * self.milli
        self.allowed: dict[str, Any] = {
            model: np.array([s.allows(model) for s in shapes], dtype=bool) for model in models
        }
        self._levels: dict[tuple[int, ...], Any] = {}

    def tightest(self, free: tuple[int, ...]) -> Any:
        """By row: milli-GPUs left of the fullest GPU that is enough (of the tightest GPUs, where
        the task takes several). -1: no room. `free` is sorted."""
        found = self._levels.get(free)
        if found is None:
            np = self.np
            first = np.searchsorted(np.array(free, dtype=np.int64), self.milli)
            enough = len(free) - first >= self.gpus
            padded = np.array([*free, -1], dtype=np.int64)
            found = np.where(enough, padded[np.minimum(first, len(free))], -1)
            found = np.where(self.gpus == 0, 0, found)
            self._levels[free] = found
        return found


class FragmentationPolicy:
    """The node and GPU whose fragmentation grows least."""

    def __init__(self, table: ShapeTable, nodes: Iterable[TraceNode]) -> None:
        nodes = list(nodes)
        np = table.np
        self.table = table
        self._cpu = max(n.cpu_milli for n in nodes) or 1
        self._gpu = max(n.gpus for n in nodes) * WHOLE_GPU or 1
        self._capacity = sum(n.gpus for n in nodes) * WHOLE_GPU or 1
        typical = sorted(_typical(table.mix), key=lambda item: item[0].cpu_milli)
        shapes = [shape for shape, _ in typical]
        self._typical_cpu: Any = np.array([s.cpu_milli for s in shapes], dtype=np.int64)
        self._typical_memory: Any = np.array([s.memory_mib for s in shapes], dtype=np.int64)
        self._typical_gpus: Any = np.array([s.gpus for s in shapes], dtype=np.int64)
        self._typical_milli: Any = np.array([s.gpu_milli for s in shapes], dtype=float)
        self._mix: Any = np.array([weight for _, weight in typical], dtype=float)
        self._weights: Any = self._mix
        self._allowed: dict[str, Any] = {
            model: np.array([s.allows(model) for s in shapes], dtype=float)
            for model in {n.model for n in nodes}
        }
        # Row v: what a GPU with v milli-GPUs left offers to each typical shape.
        left: Any = np.arange(WHOLE_GPU + 1)[:, None]
        enough = left >= np.array([s.milli for s in shapes], dtype=np.int64)[None, :]
        self._offer: Any = np.where(enough, left, 0).astype(float)
        self._count: Any = enough.astype(np.int64)
        # Requests of GPUs, numbered: shapes differ in them far less than in CPU.
        kinds = sorted({(s.gpus, s.milli) for s in table.mix})
        self._kinds = kinds
        number = {kind: i for i, kind in enumerate(kinds)}
        self._kind: Any = np.array([number[s.gpus, s.milli] for s in table.row], dtype=np.int64)
        single = [n == 1 and m < WHOLE_GPU for n, m in kinds]
        self._single: Any = np.array(single, dtype=bool)[self._kind]
        self._remembered: dict[tuple[int, ...], _Options] = {}
        self._numbers: Any = np.arange(len(table.row))

    def reweigh(self, nodes: Sequence[TraceNode], states: Sequence[NodeState]) -> None:
        """Adapt to the free resources of the whole cluster: requests with less room left have more
        weight, which changes the scores."""
        room: Any = self.table.np.zeros(len(self._mix))
        for node, state in zip(nodes, states, strict=True):
            room += self._offers([sorted(state.free)])[0] * self._fits(node, state)
        weights = self._mix / (room / self._capacity + _SCARCITY_FLOOR) ** _SCARCITY_POWER
        self._weights = weights / (weights.sum() or 1)

    def _fits(self, node: TraceNode, state: NodeState) -> Any:
        """By typical shape: 1 where CPU, host memory and the model suffice, else 0."""
        enough = (self._typical_cpu <= state.cpu_milli) & (self._typical_memory <= state.memory_mib)
        return enough * self._allowed[node.model]

    def _offers(self, after: list[list[int]]) -> Any:
        """By set of free GPUs and typical shape: milli-GPUs it can use."""
        free = self.table.np.array(after, dtype=self.table.np.int64)
        enough = self._count[free].sum(axis=1) >= self._typical_gpus
        return self._offer[free].sum(axis=1) * enough

    def fragmentation(self, node: TraceNode, state: NodeState) -> float:
        """Milli-GPUs of the node that the mix, counted by tasks, is expected to be unable to use.
        Large requests and scarce room have no extra weight here."""
        tasks = self._mix / (self._typical_milli**_SIZE_POWER)
        usable = self._offers([state.free])[0] * self._fits(node, state) * tasks
        return sum(state.free) - float(usable.sum() / (tasks.sum() or 1))

    def scores(self, node: TraceNode, state: NodeState) -> tuple[Any, Any]:
        """By row of the table: score (least is best, infinite: no room) and milli-GPUs left of the
        GPU to take. Host memory of the task itself is not looked at."""
        table, np = self.table, self.table.np
        options = self._options(tuple(sorted(state.free)))
        weights = self._weights * self._allowed[node.model]
        weights *= self._typical_memory <= state.memory_mib
        # Typical shapes are in the order of their CPU: the fitting ones are first, and the sum of
        # their usable GPUs is one number of the cumulated row.
        usable = np.zeros((len(options.offers) + 1, len(weights) + 1))
        np.cumsum(options.offers * weights, axis=1, out=usable[:-1, 1:])
        usable[-1] = -1.0  # what is not possible
        cpu = state.cpu_milli - table.cpu
        rank = np.searchsorted(self._typical_cpu, cpu, "right")
        kept = usable[options.choice, rank[:, None]]
        best = kept.argmax(axis=1)
        free = (options.free - table.total) / self._gpu + cpu / self._cpu
        room = (cpu >= 0) & table.allowed[node.model] & options.room
        # The growth but for a constant of the task: what was usable less what stays.
        now = usable[0, int(np.searchsorted(self._typical_cpu, state.cpu_milli, "right"))]
        scores = np.where(room, now - kept[self._numbers, best] + _TIGHTNESS * free, np.inf)
        return scores, np.where(self._single, options.levels[best], options.tightest)

    def _options(self, free: tuple[int, ...]) -> "_Options":
        """The options of each GPU request in a set of free GPUs, and the GPUs left by each.

        A part of one GPU has an option for each level of what GPUs have left; other requests have
        one option: the tightest set.
        """
        found = self._remembered.get(free)
        if found is not None:
            return found
        np = self.table.np
        levels = sorted({v for v in free if v}) or [0]
        after: list[list[int]] = [list(free)]
        options: Any = np.full((len(self._kinds), len(levels)), -1, dtype=np.int64)
        for k, (gpus, milli) in enumerate(self._kinds):
            if not gpus:
                options[k, 0] = 0
            elif gpus == 1 and milli < WHOLE_GPU:
                for i, level in enumerate(levels):
                    if level >= milli:
                        options[k, i] = len(after)
                        after.append(_less(free, free.index(level), 1, milli))
            else:
                first = bisect_left(free, milli)
                if len(free) - first >= gpus:
                    options[k, 0] = len(after)
                    after.append(_less(free, first, gpus, milli))
        choice = options[self._kind]
        found = _Options(
            self._offers(after).astype(np.float32),
            choice,
            choice.max(axis=1) >= 0,
            np.array(levels, dtype=np.int64),
            self.table.tightest(free),
            sum(free),
        )
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[free] = found
        return found


@dataclass(frozen=True, slots=True)
class _Options:
    """Options of a set of free GPUs."""

    offers: Any
    """By set of free GPUs after one request, and typical shape: milli-GPUs it can use."""
    choice: Any
    """By row of the table and option: number of the set; -1: not possible."""
    room: Any
    """By row of the table: whether there is an option."""
    levels: Any
    """By option: milli-GPUs left of the GPU to take a part of."""
    tightest: Any
    """By row of the table: see `ShapeTable.tightest`."""
    free: int
    """Milli-GPUs in all."""


def _less(free: tuple[int, ...], first: int, gpus: int, milli: int) -> list[int]:
    taken = list(free)
    for i in range(first, first + gpus):
        taken[i] -= milli
    return taken


def _typical(mix: Mapping[TaskShape, int]) -> list[tuple[TaskShape, float]]:
    """The GPU requests with most weight, with their part of the total weight."""
    requests = [(s, n * s.gpu_milli**_SIZE_POWER) for s, n in mix.items() if s.gpus]
    requests.sort(key=lambda item: -item[1])
    total = sum(weight for _, weight in requests)
    chosen: list[tuple[TaskShape, float]] = []
    covered = 0.0
    for shape, weight in requests[:_MOST_TYPICAL]:
        if covered >= _COVERED * total:
            break
        chosen.append((shape, weight))
        covered += weight
    return [(shape, weight / covered) for shape, weight in chosen]
