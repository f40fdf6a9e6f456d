"""`gpufleet change`: the change from one declaration to another, node by node."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from gpufleet.change.cut_over_steps import NextStep, next_steps, read_cut_over_state
from gpufleet.change.fleet_change import change_plan
from gpufleet.change.live_node import NodeReport, explain_nodes, read_nodes
from gpufleet.change.live_pods import MovingPods, moving_pods, read_pods
from gpufleet.change.plan import ChangePlan, FieldDifference, PoolChange
from gpufleet.cli.change_text import WIDTH, next_text, plan_text, pods_text, reports_text
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
    refusing,
    require_something,
)
from gpufleet.cli.source import compile_source, read_mapping
from gpufleet.documents.plain_data import plain_data
from gpufleet.findings import Finding, has_errors, ordered
from gpufleet.fleet import Fleet
from gpufleet.messages import one_line

_DIGITS = 9
"""Maximum digits of a number of nodes."""
_QUOTED = 80
"""Maximum characters of an argument in a message."""


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--count",
    "counts",
    metavar="POOL=NODES",
    multiple=True,
    help="Nodes a pool has now; default: the expected number, of simulated pools the smallest.",
)
@click.option(
    "--nodes",
    "nodes",
    metavar="FILE",
    help="Live nodes, from `kubectl get nodes -o json`: says where each is; with pods "
    "(`nodes,pods -A`) also which of them leave. Why one stopped: `gpufleet doctor`.",
)
@click.option(
    "--accept-unknown",
    "reason",
    metavar="REASON",
    help="Why differences of unknown effect are accepted: they become warnings.",
)
@format_option
def command(
    old: str,
    new: str,
    counts: tuple[str, ...],
    nodes: str | None,
    reason: str | None,
    output_format: str,
) -> None:
    """Plan the change from declaration OLD to declaration NEW: which nodes are drained, reset,
    rebooted or replaced, in which waves, which capacity stays in service, and when to stop.

    Nothing is changed: `pulumi up` makes the waves (docs/change.md). With pods
    and ResourceSlices among the live objects, a pool that goes from device plugin to DRA driver
    (or back) gets the next command of each node (docs/dra.md).

    \b
        git show HEAD:stacks/Pulumi.prod.yaml | gpufleet change - stacks/Pulumi.prod.yaml
        kubectl get nodes -o json | gpufleet change old.yaml new.yaml --nodes -
        kubectl get nodes,pods,resourceslices -A -o json > live.json
        gpufleet change old.yaml new.yaml --nodes live.json

    JSON: {"pools": [...], "cluster": [...], "stops": [...], "nodes": [...] or null,
    "pods": [...] or null, "next": [...] or null, "findings": [...]}. Exits 1 when a finding is an
    error, which a difference of unknown effect is until it is accepted with a reason, 2 when
    something cannot be read, or the dump has no nodes.
    """
    if reason is not None and not reason.strip():
        raise UnreadableInputError("--accept-unknown wants a reason, found none")
    if [old, new, nodes].count("-") > 1:
        raise UnreadableInputError("only one of OLD, NEW and --nodes can be standard input")
    before, found = _fleet(old, "old")
    after, more = _fleet(new, "new")
    findings: tuple[Finding, ...] = (*found, *more)
    if before is None or after is None:
        _finish(None, None, findings, output_format)
        return
    with refusing(ValueError):
        plan = change_plan(before, after, _counts(counts), accept_unknown=reason)
    live: _Live | None = None
    findings = (*findings, *plan.findings)
    if nodes is not None:
        live = _live(plan, after, nodes)
        findings = (*findings, *live.findings)
    text, document = plan_text(plan, after), plan_as_dict(plan)
    if live is not None:
        text = "\n\n".join((text, *live.text()))
        document |= live.as_dict()
    _finish(document, text, findings, output_format)


def _fleet(source: str, which: str) -> tuple[Fleet | None, tuple[Finding, ...]]:
    """The fleet of one side; its errors stop the plan, its warnings are ignored here."""
    compiled = compile_source(source, None)
    if compiled.fleet is not None and not has_errors(compiled.findings):
        return compiled.fleet, ()
    text = one_line(f"the {which} declaration ({source}) does not compile")
    click.echo(f"gpufleet: {text}", err=True)
    return None, tuple(f for f in compiled.findings if f.severity.value == "error")


def _counts(given: tuple[str, ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in given:
        name, equals, number = one.partition("=")
        if not equals or not number.isdecimal() or len(number) > _DIGITS:
            raise UnreadableInputError(
                f"--count wants POOL=NODES, at most {_DIGITS} digits, found {one[:_QUOTED]!r}"
            )
        counts[name] = int(number)
    return counts


@dataclass(frozen=True)
class _Live:
    """Contents of a dump of the cluster. Pods and steps are None if it has no pods."""

    reports: tuple[NodeReport, ...]
    findings: tuple[Finding, ...]
    moving: tuple[MovingPods, ...] | None
    steps: list[NextStep] | None

    def text(self) -> Iterator[str]:
        yield reports_text(self.reports)
        if self.moving is not None:
            yield pods_text(self.moving)
        if self.steps:
            yield next_text(self.steps)

    def as_dict(self) -> dict[str, object]:
        return {
            "nodes": reports_as_dict(self.reports),
            "pods": None if self.moving is None else pods_as_dict(self.moving),
            "next": None if self.steps is None else next_as_dict(self.steps),
        }


def _live(plan: ChangePlan, fleet: Fleet, source: str) -> _Live:
    """States of the nodes; with pods also moved pods and next steps."""
    document = read_mapping(source)
    with refusing(ValueError, file=source):
        nodes, pods = read_nodes(document), read_pods(document)
        state = None if pods is None else read_cut_over_state(document, pods)
    require_something(nodes, f"{source}: no node is in it, so nothing is known about them")
    reports = explain_nodes(fleet, nodes)
    if pods is None or state is None:
        return _Live(reports, (), None, None)
    moving, lost = moving_pods(plan, nodes, reports, pods)
    steps = next_steps(fleet, nodes, state.published, state.holders)
    return _Live(reports, tuple(lost), moving, steps)


def _finish(
    document: Mapping[str, object] | None,
    text: str | None,
    findings: tuple[Finding, ...],
    output_format: str,
) -> None:
    found = ordered(findings)
    if output_format == "json":
        empty: dict[str, object] = {"pools": None, "cluster": [], "stops": []}
        empty |= dict.fromkeys(("nodes", "pods", "next"))
        print_json({**empty, **(document or {}), "findings": [f.as_dict() for f in found]})
    else:
        print_findings(found, width=WIDTH)
        if text is not None:
            click.echo(text)
    sys.exit(exit_code(found))


# A change plan and the state of its nodes as plain data: the JSON of the command.


def plan_as_dict(plan: ChangePlan) -> dict[str, Any]:
    """The whole plan, without findings. Hours are decimal text."""
    return {
        "pools": [_pool(pool) for pool in plan.pools],
        "stops": list(plan.stops),
        "cluster": [_difference(one) for one in plan.cluster],
    }


def reports_as_dict(reports: Sequence[NodeReport]) -> list[dict[str, Any]]:
    """States of the nodes."""
    return [plain_data(report) for report in reports]


def pods_as_dict(moving: Sequence[MovingPods]) -> list[dict[str, Any]]:
    """Pods that leave for the change, by pool and kind of owner."""
    return [{**plain_data(one), "then": one.then} for one in moving]


def next_as_dict(steps: Sequence[NextStep]) -> list[dict[str, Any]]:
    """The next step of each node of a cut-over; `act` is null if nothing is left to do."""
    return [{**plain_data(one), "command": one.command or None} for one in steps]


def _pool(pool: PoolChange) -> dict[str, Any]:
    shown = plain_data(pool)
    shown["differences"] = [_difference(one) for one in pool.differences]
    shown["inputs"] = [_difference(one) for one in pool.inputs]
    if pool.rollout is not None:
        order, first = pool.rollout, pool.rollout.before is None
        shown["rollout"] = {"who": order.who, "atOnce": order.at_once, "newFirst": first}
        shown["rollout"]["note"] = order.note
    return shown


def _difference(one: FieldDifference) -> dict[str, Any]:
    shown = {"field": one.field, "old": one.old, "new": one.new}
    return shown if one.leaf_class is None else shown | {"class": one.leaf_class.value}
