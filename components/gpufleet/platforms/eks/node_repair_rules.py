"""Findings about node repair on EKS: faults that it detects, and nodes that it replaces."""

from collections.abc import Iterator, Sequence
from typing import Any

from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.health import HealthActor
from gpufleet.spec.platforms.eks import EksOptions
from gpufleet.spec.pool import Provisioner

_rules = rules_in(__file__)

LIMITS = (
    "maxUnhealthyNodeThresholdPercentage",
    "maxUnhealthyNodeThresholdCount",
    "maxParallelNodesRepairedCount",
)
"""Fields of NodeRepairConfig: the two floors, of which one may be set, and the number of nodes."""


def has_agent(pool: Pool) -> bool:
    """Whether the add-on monitors the pool's nodes. EKS Auto Mode has a built-in agent."""
    return pool.provisioner is not Provisioner.AUTO_MODE


def repairs(pool: Pool) -> bool:
    """Whether the declaration requests node repair."""
    if pool.health is not None:
        return pool.health.platform_repairs
    return (pool.spec.eks or EksOptions()).node_repair


def observed(pool: Pool) -> bool:
    """Whether the monitoring agent is needed: for repair, or only for reports."""
    policy = pool.health
    reports = policy is not None and policy.actor is HealthActor.PLATFORM
    return reports or repairs(pool)


def repair_config(pool: Pool) -> dict[str, Any]:
    """`nodeRepairConfig` of a node group: repair stops if more nodes are unhealthy than the floor
    allows (Amazon EKS API, NodeRepairConfig)."""
    policy = pool.health
    if policy is None or not repairs(pool):
        return {"enabled": repairs(pool)}
    config: dict[str, Any] = {"enabled": True}
    floor = policy.floor
    if floor is not None and floor.percent is not None:
        config[LIMITS[0]] = 100 - floor.percent
    elif floor is not None and floor.nodes is not None:
        unpaced = policy.model_copy(update={"at_once": None})
        config[LIMITS[1]] = unpaced.allowed_between(pool.nodes.minimum, pool.nodes.maximum)
    if policy.at_once is not None:
        config[LIMITS[2]] = policy.at_once
    return config


def validate_node_repair(pools: Sequence[Pool]) -> Iterator[Finding]:
    """Limits of node repair, and what happens to nodes: one finding for all pools concerned."""
    made = [pool for pool in pools if pool.ownership is not Ownership.EXISTING and has_agent(pool)]
    ours = [pool for pool in made if pool.provisioner is Provisioner.KARPENTER]
    repaired = [pool.name for pool in made if repairs(pool)]
    both = bool({pool.name for pool in ours} & set(repaired))
    return _rules("made", made=made, ours=ours if both else (), repaired=repaired)
