"""State of live nodes during a change. `gpufleet doctor` explains why one stopped.

The cluster is not accessed: nodes are the output of `kubectl get nodes -o json`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpufleet.change.live_node import UNDER_WAY, UPGRADE, LiveNode
from gpufleet.fleet.config_names import (
    DEVICE_PLUGIN_CONFIG_LABEL,
    MIG_CONFIG_LABEL,
    POOL_LABEL,
)
from gpufleet.fleet.model import Fleet, Pool


class Stage(StrEnum):
    """Where a node is."""

    WAITING = "waiting"
    """It has its old configuration; its wave has not come."""
    CHANGING = "changing"
    CHANGED = "changed"
    STOPPED = "stopped"
    """It will not continue without intervention."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One node of the fleet."""

    name: str
    pool: str
    stage: Stage
    offers: Mapping[str, int]
    promised: Mapping[str, int]


def explain_nodes(fleet: Fleet, nodes: Sequence[LiveNode]) -> tuple[NodeReport, ...]:
    """States of the fleet's nodes. Nodes outside its pools have no report."""
    pools = {pool.name: pool for pool in fleet.pools}
    found = ((pools.get(node.labels.get(POOL_LABEL, "")), node) for node in nodes)
    return tuple(_explain(pool, node) for pool, node in found if pool is not None)


def _explain(pool: Pool, node: LiveNode) -> NodeReport:
    new = _named_by(node, pool.labels)
    old = pool.previous is not None and _named_by(node, pool.previous.labels)
    promised: Mapping[str, int] = pool.advertised
    if old and pool.previous is not None and not new:
        promised = pool.previous.partition.advertised
    holds = all(node.offers.get(name, 0) >= count for name, count in promised.items())
    busy = node.state in UNDER_WAY or node.is_upgrading
    if _is_stopped(node, busy=busy, holds=holds, promised=promised):
        stage = Stage.STOPPED
    elif busy or not holds:
        stage = Stage.CHANGING
    else:
        stage = Stage.CHANGED if new else Stage.WAITING
    return NodeReport(node.name, pool.name, stage, dict(node.offers), dict(promised))


def _is_stopped(node: LiveNode, *, busy: bool, holds: bool, promised: Mapping[str, int]) -> bool:
    """Whether it will not continue: the layout or the driver failed, operands stay paused, it
    offers too few resources with no change in progress, or the kubelet does not report."""
    upgrade = node.labels.get(UPGRADE, "")
    skipped = node.labels.get("nvidia.com/gpu-driver-upgrade.skip") == "true"
    automatic = node.annotations.get("nvidia.com/gpu-driver-upgrade-enabled") == "true"
    stuck = upgrade == "upgrade-required" and (skipped or not automatic)
    nothing = not holds and not any(node.offers.values())
    fewer = any(0 < node.offers.get(name, 0) < count for name, count in promised.items())
    return (
        not node.ready
        or node.state == "failed"
        or upgrade == "upgrade-failed"
        or stuck
        or node.labels.get("nvidia.com/gpu.deploy.operands") == "false"
        or bool(node.paused and node.state not in UNDER_WAY)
        or (not busy and (nothing or fewer))
    )


def _named_by(node: LiveNode, labels: Mapping[str, str]) -> bool:
    return all(
        node.labels.get(key) == labels.get(key)
        for key in (MIG_CONFIG_LABEL, DEVICE_PLUGIN_CONFIG_LABEL)
        if key in labels
    )
