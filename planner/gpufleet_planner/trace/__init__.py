"""Traces: tasks that arrive one by one on a cluster with CPU, host memory and parts of GPUs."""

from gpufleet_planner.trace.as_dict import trace_as_dict
from gpufleet_planner.trace.place import (
    FailureCause,
    TracePlacement,
    TracePolicy,
    TraceRun,
    place_trace,
)
from gpufleet_planner.trace.read import is_tasks_file, read_tasks_file, read_trace
from gpufleet_planner.trace.trace import (
    GpuSharing,
    TaskShape,
    Trace,
    TraceNode,
    TraceTask,
    read_sharing,
)

__all__ = [
    "FailureCause",
    "GpuSharing",
    "TaskShape",
    "Trace",
    "TraceNode",
    "TracePlacement",
    "TracePolicy",
    "TraceRun",
    "TraceTask",
    "is_tasks_file",
    "place_trace",
    "read_sharing",
    "read_tasks_file",
    "read_trace",
    "trace_as_dict",
]
