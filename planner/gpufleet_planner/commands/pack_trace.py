"""`gpufleet pack NODES --trace TASKS`: tasks that arrive one by one."""

from typing import Any

import click

from gpufleet.catalogue import load
from gpufleet.cli.output import UnreadableInputError, exit_code, print_findings, print_json
from gpufleet.cli.source import read_bytes
from gpufleet.findings import Finding
from gpufleet_planner.trace.as_dict import trace_as_dict
from gpufleet_planner.trace.place import FailureCause, TracePolicy, place_trace
from gpufleet_planner.trace.read import read_tasks_file, read_trace
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


def run_trace(
    nodes: str,
    tasks: str,
    policy: TracePolicy,
    sharing: GpuSharing,
    departures: bool,
    output_format: str,
) -> int:
    """Place a trace and print the report; gives the exit code."""
    if nodes == tasks == "-":
        raise click.UsageError("FILE and --trace are two tables: only one can be standard input")
    found = read_trace(_text(nodes), _text(tasks), sharing)
    return place_and_print(found, policy, departures, output_format)


def run_tasks_file(
    document: dict[str, Any],
    policy: TracePolicy,
    sharing: GpuSharing,
    departures: bool,
    output_format: str,
) -> int:
    """Place the tasks of one file and print the report; gives the exit code."""
    found = read_tasks_file(document, sharing, load())
    return place_and_print(found, policy, departures, output_format)


def place_and_print(
    found: tuple[Trace | None, tuple[Finding, ...]],
    policy: TracePolicy,
    departures: bool,
    output_format: str,
) -> int:
    """Place a trace that was read, or print what is wrong with it; gives the exit code."""
    trace, findings = found
    if trace is None:
        if output_format == "json":
            print_json(trace_as_dict(None, findings))
        else:
            print_findings(findings)
        return exit_code(findings)
    try:
        run = place_trace(trace, policy, departures=departures)
    except ModuleNotFoundError as missing:
        raise click.UsageError(
            f"placing tasks needs {missing.name}: install the extra `planner`"
        ) from None
    document = trace_as_dict((trace, run))
    if output_format == "json":
        print_json(document)
    else:
        _print_text(document)
    return 0


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
