"""`gpufleet pack NODES --trace TASKS`: tasks that arrive one by one."""

from collections import Counter
from typing import Any

import click

from gpufleet.cli.output import UnreadableInputError, exit_code, print_findings, print_json
from gpufleet.cli.source import read_bytes
from gpufleet.findings import Finding
from gpufleet_planner.trace.place import FailureCause, TracePolicy, TraceRun, place_trace
from gpufleet_planner.trace.read import Read, read_trace
from gpufleet_planner.trace.trace import GpuSharing, Trace, read_sharing

_CAUSES = {
    FailureCause.NEVER: "no node could hold it even when empty",
    FailureCause.GPUS_FULL: "too little GPU left in all",
    FailureCause.GPU_FRAGMENTS: "enough GPU left, but not together",
    FailureCause.CPU: "too little CPU next to the free GPUs",
    FailureCause.MEMORY: "too little host memory next to the free GPUs",
    FailureCause.CPU_AND_MEMORY: "too little CPU or host memory next to the free GPUs",
}


def sharing_of(context: click.Context, option: click.Parameter, text: str) -> GpuSharing:
    """The mechanism that the value of `--sharing` names."""
    found = read_sharing(text)
    if found is None:
        raise click.BadParameter(
            f"{text!r} is none of milli, hami, kai, timeSlicing:N (N of 1 to 1000)", context, option
        )
    return found


def read_tables(nodes: str, tasks: str, sharing: GpuSharing) -> Read:
    """The trace of two tables."""
    if nodes == tasks == "-":
        raise click.UsageError("FILE and --trace are two tables: only one can be standard input")
    return read_trace(_text(nodes), _text(tasks), sharing)


def place_and_print(found: Read, policy: TracePolicy, departures: bool, output_format: str) -> int:
    """Place a trace that was read, or print what is wrong with it; gives the exit code."""
    trace, findings = found
    try:
        run = None if trace is None else place_trace(trace, policy, departures=departures)
    except ModuleNotFoundError as missing:
        raise click.UsageError(
            f"placing tasks needs {missing.name}: install the extra `planner`"
        ) from None
    document = trace_as_dict(None if trace is None or run is None else (trace, run), findings)
    if output_format == "json":
        print_json(document)
    elif run is None:
        print_findings(findings)
    else:
        _print_text(document)
    return exit_code(findings)


def _text(file: str) -> str:
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableInputError(f"{file}: not a text of UTF-8; write a CSV table") from None


def _print_text(document: dict[str, Any]) -> None:
    click.echo(
        f"{document['nodes']:,} nodes with {document['gpus']:,} GPUs, policy {document['policy']}"
    )
    click.echo(
        f"{document['placed']:,} of {document['tasks']:,} tasks placed; at most "
        f"{document['mostTasksOnOneGpu']} on one GPU"
    )
    if document["allocation"] is None:
        click.echo("GPU capacity: none, no node has a GPU")
    else:
        _print_parts(document)
    for cause, text in _CAUSES.items():
        count = document["failures"][cause.value]
        if count:
            click.echo(f"  {count:,} tasks without a place: {text}")


def _print_parts(document: dict[str, Any]) -> None:
    click.echo(
        f"GPU capacity: {document['allocation']:.2%} allocated at the end (peak "
        f"{document['peakAllocation']:.2%}, requested {document['requested']:.2%}); "
        f"{document['fragmentation']:.2%} free but not usable for the mix of requests"
    )


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
