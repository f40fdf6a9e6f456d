"""`gpufleet pack`: shares onto GPUs and nodes at least cost, with a lower bound and the gap; and
tasks that arrive one by one."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import click

from gpufleet.catalogue import UnknownEditionError, load
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    exit_code,
    format_option,
    print_findings,
    print_json,
)
from gpufleet.cli.source import read_mapping, read_text
from gpufleet.findings import Finding, error, ordered
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import (
    Assignment,
    Mode,
    Packing,
    PackingProblem,
    packing_as_dict,
)
from gpufleet_planner.packing.read import read_problem
from gpufleet_planner.packing.request import parse_request
from gpufleet_planner.tables import texts
from gpufleet_planner.trace.place import FailureCause, TraceRun, place_trace
from gpufleet_planner.trace.read import Trace, read_trace


def trace_as_dict(
    placed: tuple[Trace, TraceRun] | None, findings: tuple[Finding, ...] = ()
) -> dict[str, Any]:
    """`allocation`, `requested` and `fragmentation` are parts of the GPU capacity, at the end; None
    where the nodes have no GPU."""
    trace, run = placed or (Trace((), ()), TraceRun())
    capacity, failures = run.capacity_milli, Counter(p.cause for p in run.placements)
    found: dict[str, Any] = {
        "nodes": len(trace.nodes),
        "gpus": sum(node.gpus for node in trace.nodes),
        "tasks": len(trace.tasks),
        "placed": failures[None],
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
    found = dict.fromkeys(found) if placed is None else found
    return found | {"findings": [finding.as_dict() for finding in findings]}


def _part(milli: float, capacity: int) -> float | None:
    """Fraction of the capacity; rounding of floating-point numbers never makes it negative."""
    return max(0.0, milli / capacity) if capacity else None


@click.command("pack")
@click.argument("file")
@options(__file__, "pack")
@format_option
def command(
    file: str,
    trace: str | None,
    time_slices: int | None,
    departures: bool,
    output_format: str,
) -> None:
    """Pack shares onto GPUs and nodes.

    FILE (YAML or JSON, `-`: standard input) lists machine types, shares, what is there already and
    the limits. Prints the cheapest packing, a lower bound no packing can beat, and the gap between
    the two. Exits 1 when some share has no place; what has one is still printed.

    With --trace, FILE and TASKS are CSV tables of nodes and of tasks with CPU, host memory, GPU
    models and parts of GPUs, with the columns of Alibaba's GPU traces. They are placed one by one.
    Prints allocation, fragmentation and the causes of failures. Tasks without a place do not change
    the exit code.
    """
    if trace is not None:
        if file == trace == "-":
            raise click.UsageError("only one of FILE and --trace can be standard input")
        nodes, tasks = (read_text(name).removeprefix("\ufeff") for name in (file, trace))
        read, findings = read_trace(nodes, tasks, time_slices)
        try:
            run = None if read is None else place_trace(read, departures=departures)
        except ModuleNotFoundError as missing:
            why = f"placing tasks needs {missing.name}: install the extra `planner`"
            raise click.UsageError(why) from None
        placed = trace_as_dict(None if read is None or run is None else (read, run), findings)
        if output_format == "json":
            print_json(placed)
        elif run is None:
            print_findings(findings)
        else:
            click.echo("\n".join(texts("pack/trace", placed)))
        raise SystemExit(exit_code(findings))
    if time_slices is not None or not departures:
        raise click.UsageError("--time-slices and --no-departures place tasks: they need --trace")
    document = read_mapping(file)
    packed, findings = _solve(document)
    if output_format == "json":
        print_json(packing_as_dict(None if packed is None else packed[1], findings))
    else:
        if packed is not None:
            click.echo("\n".join(_lines(*packed)))
        print_findings(findings)
    raise SystemExit(exit_code(findings))


def _solve(
    document: dict[str, object],
) -> tuple[tuple[PackingProblem, Packing] | None, tuple[Finding, ...]]:
    request, findings = parse_request(document)
    if request is None:
        return None, findings
    try:
        catalogue = load() if request.catalogue is None else load(request.catalogue)
    except UnknownEditionError as problem:
        return None, (error("catalogue-unknown", "catalogue", str(problem)),)
    problem, findings = read_problem(request, catalogue)
    if problem is None:
        return None, findings
    packing = pack(problem)
    packing = replace(packing, findings=ordered((*findings, *packing.findings)))
    return (problem, packing), packing.findings


def _lines(problem: PackingProblem, packing: Packing) -> Iterator[str]:
    """Machines, the place of each share, and the verdict."""
    used = Counter((node.machine, node.existing) for node in packing.nodes)
    for machine in problem.machines.values():
        nodes, there = used[machine.name, False], used[machine.name, True]
        facts = {"machine": machine, "nodes": nodes, "there": there}
        facts["priced"] = machine.micro_usd_per_hour is not None
        yield from texts("pack/machine", facts)
    places: dict[str, Counter[str]] = defaultdict(Counter)
    machine_of = {n.name: n.machine for n in packing.nodes}
    for a in packing.assignments:
        places[a.share][f"{_slot(a)} of {machine_of[a.node]}"] += 1
    for share in problem.shares:
        yield f"{share.name}, {share.count} wanted"
        yield from (f"    {count} x {where}" for where, count in places[share.name].items())
        if packing.unplaced.get(share.name):
            yield f"    {packing.unplaced[share.name]} without a place"
    yield _verdict(packing)


def _verdict(packing: Packing) -> str:
    """The nodes to buy, and the gap of their cost to the lower bound."""
    unit = "USD/h" if packing.priced else "GPU-hours per hour"
    cost, bound = (
        f"{Decimal(amount) / 1_000_000:,.2f}" if packing.priced else str(amount)
        for amount in (packing.cost, packing.lower_bound)
    )
    bought = f"{packing.gpus} GPUs bought for {cost} {unit}"
    if not packing.complete:
        return f"some shares have no place; {bought}"
    gap = f"gap {float(packing.gap):.2%} ({packing.method.value})"
    return f"{bought}; at least {bound} is needed, {gap}"


def _slot(a: Assignment) -> str:
    if a.mode is Mode.MIG:
        return a.profile or ""
    if a.mode is Mode.WHOLE:
        return "whole GPU" if len(a.gpus) == 1 else f"{len(a.gpus)} whole GPUs"
    return f"1/{a.replicas} GPU by {'MPS' if a.mode is Mode.MPS else 'time-slicing'}"
