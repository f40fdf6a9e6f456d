"""LiveNode: facts of a Node object from `kubectl get nodes -o json`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufleet.documents.paths import mapping_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.fleet.config_names import MIG_STATE_LABEL as STATE_LABEL

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
