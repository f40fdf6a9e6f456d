"""A trace: the nodes of a cluster, and tasks that arrive one by one.

Compute is in milli-GPUs (1,000 is a whole GPU) and milli-CPUs, host memory in MiB.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)
WHOLE_GPU = 1000
"""Milli-GPUs of one GPU."""
MOST_NODES = 20_000
MOST_TASKS = 200_000
MOST_SCORES = 50_000_000
"""Different requests times nodes: 16 bytes each."""
MOST_GPUS = 64


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One node, empty."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str
    """GPU model; empty where the node has none."""


@dataclass(frozen=True, slots=True)
class TaskShape:
    """Requested resources of a task. Tasks of one shape are equal."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    milli: int
    """Request of each of its GPUs; 0 exactly where it requests no GPU."""
    models: frozenset[str]
    """GPU models it may use; empty: any."""

    @property
    def gpu_milli(self) -> int:
        """Milli-GPUs in all."""
        return self.gpus * self.milli

    def fits(self, node: TraceNode) -> bool:
        """Whether the empty node has room."""
        return (
            self.cpu_milli <= node.cpu_milli
            and self.memory_mib <= node.memory_mib
            and self.gpus <= node.gpus
            and self.allows(node.model)
        )

    def allows(self, model: str) -> bool:
        """Whether the task may use GPUs of this model."""
        return not self.gpus or not self.models or model in self.models


@dataclass(frozen=True, slots=True)
class TraceTask:
    """One task."""

    name: str
    shape: TaskShape
    created: int
    """Seconds."""
    deleted: int | None
    """Seconds; None: it stays."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Nodes, and tasks in the order of their arrival."""

    nodes: tuple[TraceNode, ...]
    tasks: tuple[TraceTask, ...]


def too_varied(tasks: Iterable[TraceTask], nodes: int) -> tuple[Finding, ...]:
    """An error where requests times nodes are more pairs than the limit kept in memory."""
    shapes = len({task.shape for task in tasks})
    if shapes * nodes <= MOST_SCORES:
        return ()
    pairs, most = shapes * nodes, MOST_SCORES
    return (_finding("pack-trace-too-varied", shapes=shapes, nodes=nodes, found=pairs, limit=most),)
