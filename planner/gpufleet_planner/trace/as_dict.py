"""A placed trace as plain data: what `gpufleet pack --trace --format json` prints."""

from collections import Counter
from typing import Any

from gpufleet.findings import Finding
from gpufleet_planner.trace.place import FailureCause, TraceRun
from gpufleet_planner.trace.trace import Trace

_KEYS = (
    "policy", "nodes", "gpus", "tasks", "placed", "allocation", "peakAllocation", "requested",
    "fragmentation", "mostTasksOnOneGpu", "failures", "assignment", "unplaced",
)  # fmt: skip


def trace_as_dict(
    placed: tuple[Trace, TraceRun] | None, findings: tuple[Finding, ...] = ()
) -> dict[str, Any]:
    """`allocation`, `requested` and `fragmentation` are parts of the GPU capacity, at the end; None
    where the nodes have no GPU."""
    found: dict[str, Any] = dict.fromkeys(_KEYS)
    if placed is not None:
        trace, run = placed
        capacity = run.capacity_milli
        failures = Counter(p.cause for p in run.placements if p.cause is not None)
        found |= {
            "policy": run.policy.value,
            "nodes": len(trace.nodes),
            "gpus": sum(node.gpus for node in trace.nodes),
            "tasks": len(trace.tasks),
            "placed": sum(p.cause is None for p in run.placements),
            "allocation": _part(run.allocated_milli, capacity),
            "peakAllocation": _part(run.peak_milli, capacity),
            "requested": _part(run.requested_milli, capacity),
            "fragmentation": _part(run.fragmented_milli, capacity),
            "mostTasksOnOneGpu": run.most_on_one_gpu,
            "failures": {cause.value: failures[cause] for cause in FailureCause},
            "assignment": [
                {
                    "task": trace.tasks[p.task].name,
                    "node": trace.nodes[p.node].name,
                    "gpus": list(p.gpus),
                }
                for p in run.placements
                if p.cause is None
            ],
            "unplaced": [
                {"task": trace.tasks[p.task].name, "cause": p.cause.value}
                for p in run.placements
                if p.cause is not None
            ],
        }
    return found | {"findings": [finding.as_dict() for finding in findings]}


def _part(milli: float, capacity: int) -> float | None:
    """Of the capacity; differences of floating-point numbers are never below zero."""
    return max(0.0, milli / capacity) if capacity else None
