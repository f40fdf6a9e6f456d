"""Live nodes in the middle of a change: where each one is, and why one that stopped has stopped.

Nothing is asked of a cluster: nodes are what `kubectl get nodes -o json` prints.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpufleet.change.live_node import (
    DEPLOY,
    PAUSED,
    STATE_LABEL,
    UNDER_WAY,
    LiveNode,
)
from gpufleet.change.node_health import is_upgrading, validate_node, validate_nodes
from gpufleet.findings import Finding, error, ordered, warning
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEVICE_PLUGIN_CONFIG_LABEL,
    MIG_CONFIG_LABEL,
    POOL_LABEL,
)
from gpufleet.fleet.model import Fleet, Pool

_MIG_MANAGER = "NVIDIA/mig-parted v0.15.0 mig-manager"


class Stage(StrEnum):
    """Where a node is."""

    WAITING = "waiting"
    """It still is what it was; its wave has not come."""
    CHANGING = "changing"
    CHANGED = "changed"
    STOPPED = "stopped"
    """It will not go on by itself; a finding says why and what helps."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One node of the fleet."""

    name: str
    pool: str
    stage: Stage
    offers: Mapping[str, int]
    promised: Mapping[str, int]


def explain_nodes(
    fleet: Fleet, nodes: Sequence[LiveNode]
) -> tuple[tuple[NodeReport, ...], tuple[Finding, ...]]:
    """Where the nodes of the fleet are, and what is wrong with those that stopped.

    Nodes of no pool of the fleet have no report; one finding names those with GPUs.
    """
    pools = {pool.name: pool for pool in fleet.pools}
    reports: list[NodeReport] = []
    findings: list[Finding] = []
    for node in nodes:
        pool = pools.get(node.labels.get(POOL_LABEL, ""))
        if pool is None:
            continue
        report, found = _explain(fleet, pool, node)
        reports.append(report)
        findings += found
    named = [node.labels.get(POOL_LABEL, "") for node in nodes]
    findings += validate_nodes(fleet, nodes, [one if one in pools else "" for one in named])
    return tuple(reports), ordered(findings)


def _explain(fleet: Fleet, pool: Pool, node: LiveNode) -> tuple[NodeReport, list[Finding]]:
    new = _named_by(node, pool.labels)
    old = pool.previous is not None and _named_by(node, pool.previous.labels)
    promised: Mapping[str, int] = pool.advertised
    if old and pool.previous is not None and not new:
        promised = pool.previous.partition.advertised
    holds = all(node.offers.get(name, 0) >= count for name, count in promised.items())
    findings = [
        *_deadlock(pool, node),
        *_failed(pool, node),
        *_black_hole(node, promised, holds=holds),
        *_attracts(node),
        *validate_node(fleet, pool, node, promised),
    ]
    if any(f.code in _FINAL for f in findings):
        stage = Stage.STOPPED
    elif node.state in UNDER_WAY or is_upgrading(node) or not holds:
        stage = Stage.CHANGING
    else:
        stage = Stage.CHANGED if new else Stage.WAITING
    return NodeReport(node.name, pool.name, stage, dict(node.offers), dict(promised)), findings


_FINAL = frozenset(
    {
        "node-paused-for-change",
        "node-change-failed",
        "node-black-hole",
        "node-not-ready",
        "node-gpus-lost",
        "node-operands-disabled",
        "node-driver-upgrade-failed",
        "node-driver-upgrade-stuck",
    }
)


def _named_by(node: LiveNode, labels: Mapping[str, str]) -> bool:
    return all(
        node.labels.get(key) == labels.get(key)
        for key in (MIG_CONFIG_LABEL, DEVICE_PLUGIN_CONFIG_LABEL)
        if key in labels
    )


def _deadlock(pool: Pool, node: LiveNode) -> Iterable[Finding]:
    """Operands are paused, and the one who paused them is no longer at work, or may not be."""
    if not node.paused:
        return
    busy = node.state in UNDER_WAY
    say = warning if busy else error
    yield say(
        "node-maybe-paused-for-good" if busy else "node-paused-for-change",
        f"nodes[{node.name}]",
        f"{', '.join(node.paused)} of {node.name} are paused for a MIG change and the state is "
        f"`{node.state or 'not set'}`: "
        + (
            "if that lasts longer than a few minutes, mig-manager has given up"
            if busy
            else "nothing will start them again"
        ),
        _again(pool, node),
        operands=list(node.paused),
        facts=[
            {
                "fact": f"{DEPLOY}{node.paused[0]} is {PAUSED}",
                "source": f"labels of node {node.name}",
            },
            {
                "fact": "mig-manager gives the operands back when it ends; up to v0.15.0 not when "
                "they did not stop in time, nor when it was killed",
                "source": "NVIDIA/gpu-operator#2833, NVIDIA/mig-parted#485",
            },
            {
                "fact": "then it waits for another value of the label, which nothing writes",
                "source": _MIG_MANAGER,
            },
        ],
    )


def _failed(pool: Pool, node: LiveNode) -> Iterable[Finding]:
    if node.state != "failed":
        return
    yield error(
        "node-change-failed",
        f"nodes[{node.name}]",
        f"mig-manager could not apply {node.labels.get(MIG_CONFIG_LABEL)} on {node.name}, and does "
        "not try again under the same name",
        "empty the node (its log says which GPU was in use or could not be reset), then: "
        + _again(pool, node),
        config=node.labels.get(MIG_CONFIG_LABEL),
        facts=[
            {"fact": f"{STATE_LABEL} is failed", "source": f"labels of node {node.name}"},
            {
                "fact": "it fails where a pod holds a GPU, where a reset is forbidden, and where "
                "the name is in no configuration",
                "source": _MIG_MANAGER,
            },
        ],
    )


def _black_hole(node: LiveNode, promised: Mapping[str, int], *, holds: bool) -> Iterable[Finding]:
    """A node that costs money, takes part in scheduling and has nothing to give."""
    if holds or node.state in UNDER_WAY or is_upgrading(node) or any(node.offers.values()):
        return
    yield error(
        "node-black-hole",
        f"nodes[{node.name}]",
        f"{node.name} offers no GPU at all, promised are "
        + ", ".join(f"{n} {name}" for name, n in promised.items()),
        f"kubectl cordon {node.name}, then look at the device plugin: under the strategies single "
        "and mixed it refuses a node whose GPUs do not fit, or whose label names no configuration",
        promised=dict(promised),
        facts=[
            {"fact": "every GPU resource is 0 or missing", "source": f"node {node.name}"},
            {
                "fact": f"the state is `{node.state or 'not set'}`: no change is under way",
                "source": f"labels of node {node.name}",
            },
        ],
    )


def _attracts(node: LiveNode) -> Iterable[Finding]:
    """A node that pods may still be bound to while its GPUs are taken apart."""
    if node.cordoned or node.state not in UNDER_WAY:
        return
    yield warning(
        "node-attracts-pods",
        f"nodes[{node.name}]",
        f"{node.name} is being changed and not cordoned: pods that fit its other resources are "
        "bound to it, and a GPU pod that slips in makes the change fail",
        f"kubectl cordon {node.name} until it is done",
        facts=[
            {"fact": f"the state is {node.state}", "source": f"labels of node {node.name}"},
            {"fact": "spec.unschedulable is not set", "source": f"node {node.name}"},
        ],
    )


def _again(pool: Pool, node: LiveNode) -> str:
    """Commands that make mig-manager act once more."""
    wanted = node.labels.get(MIG_CONFIG_LABEL, ALL_DISABLED)
    before = pool.previous.labels.get(MIG_CONFIG_LABEL) if pool.previous is not None else None
    other = before if before not in {None, wanted} else ALL_DISABLED
    if other == wanted:
        return "restart the mig-manager pod of the node, then update again"
    return (
        f"kubectl label node {node.name} --overwrite {MIG_CONFIG_LABEL}={other}, wait for "
        f"{STATE_LABEL}=success, then update again: `pulumi up` writes {wanted}"
    )
