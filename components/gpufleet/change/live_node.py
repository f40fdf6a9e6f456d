"""LiveNode: facts of a Node object from `kubectl get nodes -o json`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpufleet.documents.paths import mapping_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.fleet.config_names import (
    DEVICE_PLUGIN_CONFIG_LABEL,
    MIG_CONFIG_LABEL,
    POOL_LABEL,
)
from gpufleet.fleet.config_names import MIG_STATE_LABEL as STATE_LABEL
from gpufleet.fleet.model import Fleet, Pool

DEPLOY = "nvidia.com/gpu.deploy."
PAUSED = "paused-for-mig-change"
UNDER_WAY = frozenset({"pending", "rebooting"})
UPGRADE = "nvidia.com/gpu-driver-upgrade-state"
UPGRADED = frozenset({"", "upgrade-done"})
"""State of a driver upgrade (NVIDIA/k8s-operator-libs 1090aef `pkg/upgrade/consts.go`)."""


@dataclass(frozen=True, slots=True)
class LiveNode:
    """Facts of a Node object."""

    name: str
    labels: Mapping[str, str]
    offers: Mapping[str, int]
    """Allocatable extended resources of NVIDIA, including zeros."""
    cordoned: bool
    capacity: Mapping[str, int] = field(default_factory=dict[str, int])
    """The same including unhealthy devices."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    ready: bool = True
    """Whether the condition Ready is True, or missing."""
    kubelet: str = ""
    """Version; empty if it is missing."""

    @property
    def state(self) -> str:
        """Value of mig-manager's state label, empty without one."""
        return self.labels.get(STATE_LABEL, "")

    @property
    def paused(self) -> tuple[str, ...]:
        """Operands that mig-manager has paused."""
        return tuple(sorted(k.removeprefix(DEPLOY) for k, v in self.labels.items() if v == PAUSED))

    @property
    def is_upgrading(self) -> bool:
        """Whether the GPU Operator is changing the driver."""
        state = self.labels.get(UPGRADE, "")
        return state not in {*UPGRADED, "upgrade-failed", "upgrade-required"}


def read_nodes(document: Mapping[str, Any]) -> tuple[LiveNode, ...]:
    """Nodes of a NodeList, a List or one Node. Raises ValueError for anything else."""
    kind = str(document.get("kind", ""))
    found = document.get("items") if kind in {"List", "NodeList"} else [document]
    if not is_list(found):
        text = "a list of nodes is required: the output of `kubectl get nodes -o json`"
        raise ValueError(text)
    nodes: list[LiveNode] = []
    for item in found:
        # `kubectl get nodes,pods,resourceslices` shows them in one list.
        if kind == "List" and str(mapping(item).get("kind")) in {"Pod", "ResourceSlice"}:
            continue
        if not is_mapping(item) or str(item.get("kind", "")) not in {"Node", ""}:
            raise ValueError("only objects of kind Node are accepted")
        nodes.append(live_node(item))
    return tuple(nodes)


def live_node(item: Mapping[str, Any]) -> LiveNode:
    """A Node object. Raises ValueError without a name."""
    metadata, spec, status = (mapping_at(item, key) for key in ("metadata", "spec", "status"))
    name = metadata.get("name")
    if not isinstance(name, str):
        raise ValueError("a node without metadata.name")  # noqa: TRY004 - one error to catch
    conditions = {
        str(one.get("type")): one.get("status") for one in objects(status.get("conditions"))
    }
    return LiveNode(
        name=name,
        labels={key: str(value) for key, value in mapping_at(metadata, "labels").items()},
        offers=_counts(mapping_at(status, "allocatable")),
        cordoned=spec.get("unschedulable") is True,
        capacity=_counts(mapping_at(status, "capacity")),
        annotations={key: str(value) for key, value in mapping_at(metadata, "annotations").items()},
        ready=conditions.get("Ready", "True") == "True",
        kubelet=str(mapping_at(status, "nodeInfo").get("kubeletVersion", "")),
    )


def objects(found: object) -> list[dict[str, Any]]:
    """The mappings of a list; empty if there is none."""
    return [one for one in items(found) if is_mapping(one)]


def _counts(resources: Mapping[str, Any]) -> dict[str, int]:
    return {
        key: int(value)
        for key, value in sorted(resources.items())
        if key.startswith("nvidia.com/") and str(value).isdecimal()
    }


# State of live nodes during a change. `gpufleet doctor` explains why one stopped.
#
# The cluster is not accessed: nodes are the output of `kubectl get nodes -o json`.


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
