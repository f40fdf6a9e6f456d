"""`gpufleet change`: the change from one declaration to another, node by node."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from gpufleet.change.cut_over_steps import NextStep, next_steps, read_cut_over_state
from gpufleet.change.fleet_change import change_plan
from gpufleet.change.live_node import NodeReport, Stage, explain_nodes, read_nodes
from gpufleet.change.live_pods import MovingPods, moving_pods, read_pods
from gpufleet.change.plan import ChangeCapacity, ChangePlan, FieldDifference, PoolChange
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    fitted,
    format_option,
    print_findings,
    print_json,
    refusing,
    require_something,
)
from gpufleet.cli.source import compile_source, read_mapping
from gpufleet.documents.plain_data import plain_data
from gpufleet.findings import Finding, Severity, has_errors, ordered
from gpufleet.fleet import Fleet
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.fleet.rollout import Rollout
from gpufleet.messages import one_line

_DIGITS = 9
"""Maximum digits of a number of nodes."""
_QUOTED = 80
"""Maximum characters of an argument in a message."""


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options(__file__, "change")
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
        git show HEAD:fleet.yaml | gpufleet change - fleet.yaml
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
    errors = (one for one in compiled.findings if one.severity is Severity.ERROR)
    return None, tuple(replace(one, message=f"{source}: {one.message}") for one in errors)


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
            "nodes": plain_data(self.reports),
            "pods": self.moving and [{**plain_data(one), "then": one.then} for one in self.moving],
            "next": self.steps
            and [{**plain_data(one), "command": one.command or None} for one in self.steps],
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


# A change plan as text.

WIDTH = 80
"""Maximum number of characters of a line."""
_COLOURS = {Stage.STOPPED: "red", Stage.CHANGING: "yellow", Stage.CHANGED: "green"}


def plan_text(plan: ChangePlan, new: Fleet) -> str:
    """Pool by pool: differences, changes of each node, capacity in service."""
    blocks = [_pool_lines(pool, new) for pool in plan.pools]
    if plan.cluster:
        blocks.insert(0, "\n".join([click.style("cluster", bold=True), *_lines(plan.cluster)]))
    if plan.stops:
        blocks.append("Stop when\n" + "\n".join(f"  - {one}" for one in plan.stops))
    return _fitted("\n\n".join(blocks))


def _fitted(text: str) -> str:
    """The text in lines of at most `WIDTH` characters; a command that is pasted stays whole."""
    return "\n".join(
        part
        for line in text.splitlines()
        for part in (
            [line]
            if len(click.unstyle(line)) <= WIDTH or "kubectl" in line
            else fitted(line, WIDTH).splitlines()
        )
    )


def reports_text(reports: Sequence[NodeReport]) -> str:
    """One line per node."""
    lines = ["Nodes now"]
    for report in reports:
        stage = click.style(report.stage.value, fg=_COLOURS.get(report.stage))
        offers = ", ".join(f"{n} {name}" for name, n in report.offers.items() if n) or "nothing"
        lines.append(f"  {report.name}: {stage}, offers {offers}")
    if any(report.stage is Stage.STOPPED for report in reports):
        lines.append("  why one stopped, and what helps: gpufleet doctor DUMP --fleet NEW")
    return "\n".join(lines if reports else ["Nodes now: the file has none of these pools"])


def pods_text(moving: Sequence[MovingPods]) -> str:
    """Moved pods, by pool and kind of owner."""
    lines = ["Pods that leave"]
    for one in moving:
        held = [f"{one.gpus} GPUs or shares"] if one.gpus else []
        held += [f"{one.claims} claims"] if one.claims else []
        holding = f" with {' and '.join(held)}" if held else ""
        lines.append(f"  {one.pool}: {one.pods} of {one.owner}{holding}, {one.then}")
    return _fitted("\n".join(lines if moving else ["Pods that leave: none"]))


def next_text(steps: Sequence[NextStep]) -> str:
    """The next step of each node of a cut-over."""
    lines = ["Next"]
    for one in steps:
        act = "done" if one.act is None else one.act.value
        lines.append(f"  {one.node}: {act}, {one.text}")
        if one.command:
            lines.append(f"    {one.command}")
    return "\n".join(lines)


def _pool_lines(pool: PoolChange, new: Fleet) -> str:
    lines = [click.style(pool.name, bold=True) + f"  {pool.kind.facts['title']}"]
    lines += _lines(pool.differences)
    lines += _inputs(pool)
    if pool.kind.facts.get("in_place"):
        lines.append(f"  {_waves(pool, new)}")
        lines.append("  each node")
        lines += [f"    {s.act.value:<9} {s.text} ({s.who})" for s in pool.steps]
        if pool.labels and not new.platform.facts.simulated:
            pairs = " ".join(f"{key}={value}" for key, value in pool.labels.items())
            lines.append(f"    kubectl label node NODE --overwrite {pairs}")
    if pool.rollout is not None:
        lines.append(f"  {_order(pool, pool.rollout)}")
    if pool.seconds:
        cost = "" if pool.usd is None else f", {pool.usd} USD"
        lines.append(
            f"  out of service: {pool.gpu_hours} GPU-hours if all goes well, at most "
            f"{pool.gpu_hours_at_most}"
        )
        lines.append(f"  expected: {-(-pool.seconds // 60)} minutes{cost}")
    if not pool.kind.facts.get("serves"):
        lines += [f"  back: {pool.back}"] if pool.back else []
        lines.append("  in service      before  lowest   after")
        lines += [_capacity(one) for one in (pool.gpus, *pool.resources)]
    return "\n".join(lines)


_INPUTS = 6
"""Maximum number of listed inputs of resources; the others are counted."""


def _inputs(pool: PoolChange) -> list[str]:
    """The engine's operations, and the inputs that cause them."""
    lines = [f"  pulumi up {one.operation.value}s {one.resource}" for one in pool.engine]
    changed = [one for one in pool.inputs if "." in one.field]
    lines += [f"    {line.strip()}" for line in _lines(changed[:_INPUTS])]
    more = len(changed) - _INPUTS
    return [*lines, f"    and {more} more inputs"] if more > 0 else lines


def _order(pool: PoolChange, rollout: Rollout) -> str:
    count = "all" if rollout.at_once is None else str(min(rollout.at_once, pool.nodes))
    first = "new nodes first" if rollout.before is None else "old nodes first"
    if rollout.before:
        first = f"{rollout.before} new nodes first"
    note = f" ({rollout.note})" if rollout.note else ""
    return f"{rollout.who}: {count} of {pool.nodes} nodes at a time, {first}{note}"


def _lines(differences: Sequence[FieldDifference]) -> list[str]:
    return [
        f"  {d.field}: {d.old} -> {d.new}" + (f"  [{d.leaf_class.value}]" if d.leaf_class else "")
        for d in differences
    ]


def _waves(pool: PoolChange, new: Fleet) -> str:
    if not pool.waves:
        return "no node exists: new nodes start with the new sharing"
    width = len(pool.waves[0])
    text = f"{pool.nodes} nodes in {len(pool.waves)} waves of {width}"
    first = platform_rules(new.platform).node_names(new, pool.name, pool.waves[0][:4])
    return f"{text}; first {', '.join(first)}" if first else text


def _capacity(one: ChangeCapacity) -> str:
    return f"    {one.name:<24} {one.before:>5} {one.lowest:>7} {one.after:>7}"
