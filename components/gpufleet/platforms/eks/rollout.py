"""In which order nodes on EKS are replaced.

Managed node groups: Amazon EKS user guide, managed node update behavior: `maxUnavailable` nodes at
a time; the strategy DEFAULT starts new nodes first, MINIMAL ends old ones first. A group that
cannot change is made anew by the engine, which starts it with its smallest size before it deletes
the old one. Karpenter: kubernetes-sigs/karpenter 013941a `pkg/apis/v1/nodepool.go`, disruption
budgets, rounded up; a drifted node goes when its replacement is ready.
"""

from typing import Any, cast

from gpufleet.fleet.model import Pool
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.eks.karpenter_intent import disruption
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.platforms.eks import UpdateStrategy
from gpufleet.spec.pool import Provisioner


def rollout(pool: Pool, *, replaced: bool) -> Rollout:
    """The order of a pool."""
    if pool.provisioner.by_node_pool:
        return _karpenter(pool)
    if replaced:
        note = "the new group starts with nodes.min nodes, and its autoscaler adds the others"
        return Rollout("pulumi up", None, pool.nodes.minimum, note)
    update = eks_shape(pool).options.update
    surge = update.strategy is UpdateStrategy.SURGE
    return Rollout("EKS", update.max_unavailable, None if surge else 0)


def _karpenter(pool: Pool) -> Rollout:
    auto = pool.provisioner is Provisioner.AUTO_MODE
    options = pool.spec.karpenter or KarpenterPoolOptions()
    rules, _ = disruption(pool.intent, options, auto_mode=auto)
    who = "EKS Auto Mode" if auto else "Karpenter"
    limits = [
        str(one.get("nodes", "10%"))
        for one in cast("list[dict[str, Any]]", rules["budgets"])
        if "Drifted" in one.get("reasons", ("Drifted",)) and "schedule" not in one
    ]
    if "0" in limits or "0%" in limits:
        note = "a budget of 0 for drifted nodes: none goes until it is empty or the budget changes"
        return Rollout(who, 1, None, note)
    shown = f"budget {', '.join(limits)}" if limits else "no budget"
    return Rollout(who, _fewest(limits, pool.nodes.expected), None, shown)


def _fewest(limits: list[str], nodes: int) -> int | None:
    counts = [
        -(-nodes * int(text.removesuffix("%")) // 100) if text.endswith("%") else int(text)
        for text in limits
    ]
    return max(1, min(counts)) if counts else None
