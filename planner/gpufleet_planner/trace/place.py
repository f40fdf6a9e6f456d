"""Places the tasks of a trace one by one, in the order of their arrival. Nothing is moved later."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any

from gpufleet_planner.trace.fragmentation import FragmentationPolicy, NodeState, ShapeTable
from gpufleet_planner.trace.read import WHOLE_GPU, TaskShape, Trace, TraceNode


class FailureCause(StrEnum):
    """Resource that a task without a place lacked when it arrived."""

    NEVER = "never"
    """No node could hold it even when empty: too large, or no node has its GPU model."""
    GPUS_FULL = "gpusFull"
    """The nodes it may use had less GPU left in all than it requests."""
    GPU_FRAGMENTS = "gpuFragments"
    """Enough GPU was left in all, on no node enough of it on as many GPUs as it requests."""
    CPU = "cpu"
    """Nodes with GPU and host memory enough had too little CPU."""
    MEMORY = "memory"
    """Nodes with GPU and CPU enough had too little host memory."""
    CPU_AND_MEMORY = "cpuAndMemory"
    """Of the nodes with enough GPU, some lacked CPU, the others host memory."""


@dataclass(frozen=True, slots=True)
class TracePlacement:
    """The place of a task."""

    task: int
    """Number in `Trace.tasks`."""
    node: int
    """Number in `Trace.nodes`; -1: nowhere."""
    gpus: tuple[int, ...]
    """GPU indices on the node."""
    cause: FailureCause | None = None
    """Why it went nowhere."""


@dataclass(slots=True)
class TraceRun:
    """Placements of a trace, and the state of the cluster at the end."""

    placements: list[TracePlacement] = field(default_factory=list[TracePlacement])
    allocated_milli: int = 0
    """At the end."""
    peak_milli: int = 0
    """The most at one time."""
    requested_milli: int = 0
    """By all tasks that had arrived and not left at the end, placed or not."""
    capacity_milli: int = 0
    most_on_one_gpu: int = 0
    """Tasks that shared one GPU at one time."""
    fragmented_milli: float = 0.0
    """Free at the end, and expected to be unusable for the mix of requests."""


class _Cluster:
    """Free resources of all nodes, and the scores of all shapes on them."""

    def __init__(
        self,
        nodes: tuple[TraceNode, ...],
        table: ShapeTable,
        policy: FragmentationPolicy,
    ) -> None:
        self.nodes, self.table, self.policy = nodes, table, policy
        self.states = [NodeState(n.cpu_milli, n.memory_mib, [WHOLE_GPU] * n.gpus) for n in nodes]
        np: Any = table.np
        self._np = np
        self._memory: Any = np.array([n.memory_mib for n in nodes], dtype=np.int64)
        self._cpu: Any = np.array([n.cpu_milli for n in nodes], dtype=np.int64)
        self._free_of: Any = np.zeros((len(nodes), max(n.gpus for n in nodes)), dtype=np.int64)
        for i, node in enumerate(nodes):
            self._free_of[i, : node.gpus] = WHOLE_GPU
        self.kinds = list(dict.fromkeys(replace(n, name="") for n in nodes))
        number = {kind: i for i, kind in enumerate(self.kinds)}
        self._kind: Any = np.array([number[replace(n, name="")] for n in nodes], dtype=np.int64)
        self._scores: Any = np.empty((len(table.row), len(nodes)))
        self._levels: Any = np.empty((len(table.row), len(nodes)), dtype=np.int64)
        self.capacity = WHOLE_GPU * sum(n.gpus for n in nodes)
        self._free = self._weighed_at = self.capacity
        self._rescore()

    def _rescore(self) -> None:
        """Set the weights of the requests, and compute all scores again."""
        self.policy.reweigh(self.nodes, self.states)
        same: dict[tuple[object, ...], tuple[Any, Any]] = {}
        for i, (node, state) in enumerate(zip(self.nodes, self.states, strict=True)):
            key = (node.model, state.cpu_milli, state.memory_mib, *sorted(state.free))
            if key not in same:
                same[key] = self.policy.scores(node, state)
            self._scores[:, i], self._levels[:, i] = same[key]

    def best(self, wanted: TaskShape, row: int) -> int:
        """The node for a shape; -1: none has room."""
        np = self._np
        scores = np.where(self._memory >= wanted.memory_mib, self._scores[row], np.inf)
        node = int(scores.argmin())
        return node if scores[node] != np.inf else -1

    def take(self, wanted: TaskShape, row: int, node: int) -> tuple[int, ...]:
        """Put a task on a node; gives the GPUs it takes."""
        free = self.states[node].free
        if wanted.gpus == 1:
            chosen = (free.index(int(self._levels[row, node])),)
        else:
            fitting = sorted((v, i) for i, v in enumerate(free) if v >= wanted.milli)
            chosen = tuple(i for _, i in fitting[: wanted.gpus])
        self.change(wanted, node, chosen, -1)
        return chosen

    def change(self, wanted: TaskShape, node: int, gpus: tuple[int, ...], sign: int) -> None:
        """Take what a task requests from a node (-1), or give it back (1)."""
        state = self.states[node]
        state.cpu_milli += sign * wanted.cpu_milli
        state.memory_mib += sign * wanted.memory_mib
        self._memory[node], self._cpu[node] = state.memory_mib, state.cpu_milli
        for gpu in gpus:
            state.free[gpu] += sign * wanted.milli
            self._free_of[node, gpu] = state.free[gpu]
        self._free += sign * wanted.gpu_milli
        halved = self._free * 2 < self._weighed_at
        if (halved or self._free > self._weighed_at * 2) and self._free * 64 > self.capacity:
            self._weighed_at = self._free
            self._rescore()
            return
        self._scores[:, node], self._levels[:, node] = self.policy.scores(self.nodes[node], state)

    def cause(self, wanted: TaskShape) -> FailureCause:
        """Why no node has room for a shape."""
        np = self._np
        if not any(wanted.fits(node) for node in self.kinds):
            return FailureCause.NEVER
        allowed: Any = np.array([wanted.allows(n.model) for n in self.kinds])[self._kind]
        enough = allowed & ((self._free_of >= max(1, wanted.milli)).sum(axis=1) >= wanted.gpus)
        if not enough.any():
            free = int(self._free_of[allowed].sum())
            full = free < wanted.gpu_milli
            return FailureCause.GPUS_FULL if full else FailureCause.GPU_FRAGMENTS
        cpu = enough & (self._cpu >= wanted.cpu_milli)
        if not cpu.any():
            return FailureCause.CPU
        memory = enough & (self._memory >= wanted.memory_mib)
        return FailureCause.CPU_AND_MEMORY if memory.any() else FailureCause.MEMORY


def place_trace(
    trace: Trace,
    *,
    departures: bool = True,
    policy: type[FragmentationPolicy] = FragmentationPolicy,
) -> TraceRun:
    """Place every task when it arrives; one without a place is not tried again.

    `departures`: tasks leave at the time of their deletion; else all stay. The mix of requests is
    that of the whole trace. `policy`: how a node and a GPU are chosen. The same trace always gives
    the same placements. Needs numpy (extra `planner`).
    """
    mix = Counter(task.shape for task in trace.tasks)
    table = ShapeTable(mix, sorted({node.model for node in trace.nodes}))
    rows = {shape: table.row[replace(shape, memory_mib=0)] for shape in mix}
    cluster = _Cluster(trace.nodes, table, policy(table, trace.nodes))
    run = TraceRun(capacity_milli=cluster.capacity)
    leaving: list[tuple[int, int]] = []
    sharing: Counter[tuple[int, int]] = Counter()
    for i, task in enumerate(trace.tasks):
        for gone in _left(leaving, task.created):
            placed, shape = run.placements[gone], trace.tasks[gone].shape
            run.requested_milli -= shape.gpu_milli
            if placed.node >= 0:
                cluster.change(shape, placed.node, placed.gpus, 1)
                run.allocated_milli -= shape.gpu_milli
                sharing.subtract((placed.node, gpu) for gpu in placed.gpus)
        shape = task.shape
        run.requested_milli += shape.gpu_milli
        node = cluster.best(shape, rows[shape])
        if node < 0:
            run.placements.append(TracePlacement(i, -1, (), cluster.cause(shape)))
        else:
            gpus = cluster.take(shape, rows[shape], node)
            run.placements.append(TracePlacement(i, node, gpus))
            run.allocated_milli += shape.gpu_milli
            for gpu in gpus:
                sharing[node, gpu] += 1
                run.most_on_one_gpu = max(run.most_on_one_gpu, sharing[node, gpu])
            run.peak_milli = max(run.peak_milli, run.allocated_milli)
        if departures and task.deleted is not None:
            heappush(leaving, (task.deleted, i))
    run.fragmented_milli = sum(
        cluster.policy.fragmentation(node, state)
        for node, state in zip(trace.nodes, cluster.states, strict=True)
    )
    return run


def _left(leaving: list[tuple[int, int]], now: int) -> Iterator[int]:
    """Tasks that left until now, in the order of time."""
    while leaving and leaving[0][0] <= now:
        yield heappop(leaving)[1]
