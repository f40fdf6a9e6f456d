"""A change plan and the state of its nodes as plain data: what the command prints as JSON."""

from collections.abc import Sequence
from typing import Any

from gpufleet.change.cut_over_steps import NextStep
from gpufleet.change.live_pods import MovingPods
from gpufleet.change.nodes import NodeReport
from gpufleet.change.plan import ChangePlan, FieldDifference, PoolChange
from gpufleet.documents.plain_data import plain_data


def plan_as_dict(plan: ChangePlan) -> dict[str, Any]:
    """The whole plan, findings left out. Hours are decimal text."""
    return {
        "pools": [_pool(pool) for pool in plan.pools],
        "stops": list(plan.stops),
        "cluster": [_difference(one) for one in plan.cluster],
    }


def reports_as_dict(reports: Sequence[NodeReport]) -> list[dict[str, Any]]:
    """Where the nodes are."""
    return [plain_data(report) for report in reports]


def pods_as_dict(moving: Sequence[MovingPods]) -> list[dict[str, Any]]:
    """Pods that leave for the change, by pool and kind of owner."""
    return [{**plain_data(one), "then": one.then} for one in moving]


def next_as_dict(steps: Sequence[NextStep]) -> list[dict[str, Any]]:
    """What each node of a cut-over needs now; `act` is null where nothing is left to do."""
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
