"""A change plan and the state of its nodes as plain data: what the command prints as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpufleet.change.cut_over_steps import NextStep
from gpufleet.change.live_pods import MovingPods
from gpufleet.change.nodes import NodeReport
from gpufleet.change.plan import ChangeCapacity, ChangePlan, FieldDifference, PoolChange


def plan_as_dict(plan: ChangePlan) -> dict[str, Any]:
    """The whole plan, findings left out. Hours are decimal text."""
    return {
        "pools": [_pool(pool) for pool in plan.pools],
        "stops": list(plan.stops),
        "cluster": [_difference(one) for one in plan.cluster],
    }


def reports_as_dict(reports: Sequence[NodeReport]) -> list[dict[str, Any]]:
    """Where the nodes are."""
    return [
        {
            "name": report.name,
            "pool": report.pool,
            "stage": report.stage.value,
            "offers": dict(report.offers),
            "promised": dict(report.promised),
        }
        for report in reports
    ]


def pods_as_dict(moving: Sequence[MovingPods]) -> list[dict[str, Any]]:
    """Pods that leave for the change, by pool and kind of owner."""
    return [{**asdict(one), "then": one.then} for one in moving]


def next_as_dict(steps: Sequence[NextStep]) -> list[dict[str, Any]]:
    """What each node of a cut-over needs now; `act` is null where nothing is left to do."""
    return [
        {
            "node": one.node,
            "act": None if one.act is None else one.act.value,
            "text": one.text,
            "labels": dict(one.labels),
            "command": one.command or None,
        }
        for one in steps
    ]


def _pool(pool: PoolChange) -> dict[str, Any]:
    return {
        "name": pool.name,
        "path": pool.path,
        "kind": pool.kind.value,
        "differences": [_difference(one) for one in pool.differences],
        "nodes": pool.nodes,
        "waves": [list(wave) for wave in pool.waves],
        "steps": [{"act": s.act.value, "who": s.who, "text": s.text} for s in pool.steps],
        "labels": dict(pool.labels),
        "gpus": _capacity(pool.gpus),
        "resources": [_capacity(one) for one in pool.resources],
        "gpuHours": str(pool.gpu_hours),
        "gpuHoursAtMost": str(pool.gpu_hours_at_most),
        "rollout": None
        if pool.rollout is None
        else {
            "who": pool.rollout.who,
            "atOnce": pool.rollout.at_once,
            "newFirst": pool.rollout.before is None,
            "note": pool.rollout.note,
        },
        "seconds": pool.seconds,
        "usd": None if pool.usd is None else str(pool.usd),
        "back": pool.back,
        "inputs": [_difference(one) for one in pool.inputs],
        "engine": [
            {"resource": one.resource, "operation": one.operation.value} for one in pool.engine
        ],
    }


def _difference(one: FieldDifference) -> dict[str, Any]:
    shown = {"field": one.field, "old": one.old, "new": one.new}
    return shown if one.leaf_class is None else shown | {"class": one.leaf_class.value}


def _capacity(one: ChangeCapacity) -> dict[str, Any]:
    return {"name": one.name, "before": one.before, "lowest": one.lowest, "after": one.after}
