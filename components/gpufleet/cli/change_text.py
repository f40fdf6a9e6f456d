"""A change plan as text."""

from collections.abc import Sequence

import click

from gpufleet.change.cut_over_steps import NextStep
from gpufleet.change.live_node import NodeReport, Stage
from gpufleet.change.live_pods import MovingPods
from gpufleet.change.plan import ChangeCapacity, ChangePlan, FieldDifference, PoolChange
from gpufleet.cli.output import fitted
from gpufleet.fleet import Fleet
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.fleet.rollout import Rollout

WIDTH = 80
"""Maximum number of characters of a line."""
_COLOURS = {Stage.STOPPED: "red", Stage.CHANGING: "yellow", Stage.CHANGED: "green"}


def plan_text(plan: ChangePlan, new: Fleet) -> str:
    """Pool by pool: differences, changes of each node, capacity in service."""
    blocks = [_pool(pool, new) for pool in plan.pools]
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


def _pool(pool: PoolChange, new: Fleet) -> str:
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
