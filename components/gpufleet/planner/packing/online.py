"""Online arrival: one share at a time, never moving another, keeping most of the future open.

Every legal (GPU, start) is scored by how much the placement raises the expected fragmentation of
its GPU (`fragmentation.py`); the least wins, ties go to GPUs and nodes in use, then to the fixed
order. GPUs in one state score alike, so a decision looks at states, of which there are some
hundreds, and not at GPUs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from gpufleet.catalogue.frozen import FrozenDict
from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition import PlacedInstance
from gpufleet.partition.slot_table import slot_table
from gpufleet.planner.packing.fragmentation import best_start, expected_mix
from gpufleet.planner.packing.patterns import state_of


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a share was put."""

    node: int
    gpus: tuple[int, ...]
    profile: str | None = None
    """MIG profile; None: whole GPUs."""
    start: int | None = None
    """First memory slot."""


@dataclass(slots=True)
class _Gpu:
    used: int = 0
    present: int = 0
    whole: bool = False


_State = tuple[int, int]
"""Cells used, packed multiset."""
_Score = tuple[int, bool, _State, int, int, int]
"""Growth of fragmentation, whether the GPU is empty, its state, then start, cells and multiset of
the placement. The least is the best."""


class OnlineFleet:
    """Nodes of one machine type that take MIG instances and whole GPUs as they are asked for."""

    def __init__(
        self,
        geometry: MigGeometry,
        gpus_per_node: Sequence[int],
        expected: Mapping[str, int] | None = None,
    ) -> None:
        """`gpus_per_node`: GPUs of each node. `expected`: how often each profile is asked for;
        default: every plain profile equally often."""
        self.geometry = geometry
        self._table = slot_table(geometry)
        self._expected: FrozenDict[str, int] = expected_mix(geometry, expected or {})
        self._order = {name: i for i, name in enumerate(geometry.profiles)}
        self._nodes = [[_Gpu() for _ in range(count)] for count in gpus_per_node]
        self._free = [len(node) for node in self._nodes]
        self._heaps: dict[_State, list[tuple[int, int, int]]] = {}
        self._counts: dict[_State, int] = {}
        self._scores: dict[str, dict[_State, _Score | None]] = {n: {} for n in geometry.profiles}
        self._crowded = 64 + 4 * sum(gpus_per_node)
        for node, gpus in enumerate(self._nodes):
            for gpu in range(len(gpus)):
                self._enter(node, gpu)

    def occupy(self, node: int, gpu: int, instances: Sequence[PlacedInstance]) -> None:
        """Note instances that are there already. Raises ValueError when the GPU is not empty."""
        found = self._nodes[node][gpu]
        if found.present or found.whole:
            raise ValueError(f"GPU {gpu} of node {node} is in use")
        used, present = state_of(self.geometry, tuple(instances))
        self._change(node, gpu, used, present)

    def arrive(self, profile: str) -> Spot | None:
        """Place one MIG instance; None: it fits nowhere. Raises KeyError for unknown profiles."""
        scores = self._scores[profile]
        best: _Score | None = None
        for state in self._counts:
            if state not in scores:
                scores[state] = self._score(state, profile)
            score = scores[state]
            if score is not None and (best is None or score < best):
                best = score
        if best is None:
            return None
        _, _, state, start, used, present = best
        node, gpu = self._first(state)
        self._change(node, gpu, used, present)
        return Spot(node, (gpu,), profile, start)

    def arrive_whole(self, gpus: int = 1) -> Spot | None:
        """Place a share of whole GPUs on one node: the one with fewest empty ones that are enough.

        None: no node has as many.
        """
        fitting = [(free, node) for node, free in enumerate(self._free) if free >= gpus]
        if not fitting:
            return None
        node = min(fitting)[1]
        empty = [i for i, g in enumerate(self._nodes[node]) if not g.present and not g.whole]
        chosen = tuple(empty[:gpus])
        for gpu in chosen:
            self._forget((0, 0))
            self._nodes[node][gpu].whole = True
        self._free[node] -= gpus
        self._refresh(node)
        return Spot(node, chosen)

    def leave(self, spot: Spot) -> None:
        """Free what a spot holds. Raises ValueError when nothing of the kind is there."""
        for index in spot.gpus:
            gpu = self._nodes[spot.node][index]
            if spot.profile is None:
                if not gpu.whole:
                    raise ValueError(f"no whole-GPU share is on GPU {index} of node {spot.node}")
                gpu.whole = False
                self._free[spot.node] += 1
                self._enter(spot.node, index)
                continue
            number = self._order[spot.profile]
            start = -1 if spot.start is None else spot.start
            size = self.geometry.profiles[spot.profile].memory_slots
            cells = self._table.mask_of(start, size) if start >= 0 else 0
            held = self._table.unpack(gpu.present)[number]
            if not cells or gpu.used & cells != cells or not held:
                raise ValueError(f"no {spot.profile} at {spot.start} on GPU {index} is there")
            present = gpu.present - self._table.unit[number]
            self._change(spot.node, index, gpu.used & ~cells, present)
        if spot.profile is None:
            self._refresh(spot.node)

    @property
    def used_compute(self) -> int:
        """Compute slices in use; a whole GPU counts all of its own."""
        table = self._table
        return sum(
            self.geometry.compute_slices if gpu.whole else table.compute[table.number[gpu.present]]
            for node in self._nodes
            for gpu in node
        )

    # -- states -----------------------------------------------------------------------------------

    def _change(self, node: int, gpu: int, used: int, present: int) -> None:
        found = self._nodes[node][gpu]
        self._forget((found.used, found.present))
        before = not found.present
        found.used, found.present = used, present
        if before != (not present):
            self._free[node] += -1 if before else 1
            self._refresh(node)
        self._enter(node, gpu)

    def _enter(self, node: int, gpu: int) -> None:
        found = self._nodes[node][gpu]
        state = (found.used, found.present)
        self._counts[state] = self._counts.get(state, 0) + 1
        self._push(state, node, gpu)

    def _forget(self, state: _State) -> None:
        """One GPU fewer is in this state. Its entry in the heap is dropped when it comes up."""
        self._counts[state] -= 1
        if not self._counts[state]:
            del self._counts[state]

    def _score(self, state: _State, profile: str) -> _Score | None:
        found = best_start(self.geometry, *state, profile, self._expected)
        if found is None:
            return None
        growth, start, used, present = found
        return growth, not state[1], state, start, used, present

    def _push(self, state: _State, node: int, gpu: int) -> None:
        heap = self._heaps.setdefault(state, [])
        if len(heap) > self._crowded:
            heap[:] = sorted({entry for entry in heap if self._current(state, entry)})
        heappush(heap, (self._free[node], node, gpu))

    def _current(self, state: _State, entry: tuple[int, int, int]) -> bool:
        """Whether an entry of the heap still says the truth."""
        free, node, gpu = entry
        found = self._nodes[node][gpu]
        right = (found.used, found.present) == state and not found.whole
        return right and (bool(state[1]) or free == self._free[node])

    def _refresh(self, node: int) -> None:
        """Enter a node's empty GPUs with its new number of empty ones: they rank by it."""
        for index, gpu in enumerate(self._nodes[node]):
            if not gpu.present and not gpu.whole:
                self._push((0, 0), node, index)

    def _first(self, state: _State) -> tuple[int, int]:
        """The first GPU in a state: on the node with fewest empty GPUs, which keeps nodes whole."""
        heap = self._heaps[state]
        while True:
            entry = heappop(heap)
            if self._current(state, entry):
                return entry[1], entry[2]
