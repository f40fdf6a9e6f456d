"""Baseline of placement by fragmentation."""

from collections.abc import Iterable, Sequence
from typing import Any

from gpufleet_planner.trace.fragmentation import FragmentationPolicy, NodeState, ShapeTable
from gpufleet_planner.trace.read import WHOLE_GPU, TraceNode


class BestFit(FragmentationPolicy):
    """The node with least left of CPU and GPU, each relative to the largest node; on it the fullest
    GPU that is enough. The usual baseline."""

    def __init__(self, table: ShapeTable, nodes: Iterable[TraceNode]) -> None:
        nodes = list(nodes)
        super().__init__(table, nodes)
        self._largest_cpu = max(n.cpu_milli for n in nodes) or 1
        self._largest_gpu = max(n.gpus for n in nodes) * WHOLE_GPU or 1

    def reweigh(self, nodes: Sequence[TraceNode], states: Sequence[NodeState]) -> None:
        """Scores do not depend on what is free elsewhere."""

    def scores(self, node: TraceNode, state: NodeState) -> tuple[Any, Any]:
        table, np = self.table, self.table.np
        tightest = table.tightest(tuple(sorted(state.free)))
        cpu = state.cpu_milli - table.cpu
        room = (cpu >= 0) & table.allowed[node.model] & (tightest >= 0)
        left = cpu / self._largest_cpu + (sum(state.free) - table.total) / self._largest_gpu
        return np.where(room, left, np.inf), tightest


POLICIES = {"fragmentation": FragmentationPolicy, "best fit": BestFit}
