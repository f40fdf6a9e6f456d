"""Pods of a live cluster: pods that hold GPUs of a node, and pods that move when a pool changes.

Read from `kubectl get nodes,pods -A -o json`. How a drain handles pods by kind of owner:
kubernetes/kubectl `pkg/drain/filters.go`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.change.live_node import LiveNode, NodeReport, Stage, objects
from gpufleet.change.plan import ChangePlan, PoolChange
from gpufleet.documents.paths import mapping_at
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.config_names import POOL_LABEL

_finding = findings_in(__file__)

BARE = "none"
"""Kind of owner of a pod that no controller would create again."""
_FINISHED = frozenset({"Succeeded", "Failed"})
_STAY = frozenset({"DaemonSet", "Node"})
"""Owners whose pods a drain leaves: DaemonSets, and files of the kubelet (mirror pods)."""
_NAMES = {"ReplicaSet": "Deployment"}
"""A Deployment owns pods through its ReplicaSets."""
_THEN = {
    "Deployment": "made again on other nodes",
    "StatefulSet": "made again under the same name, once the old one is gone",
    "Job": "started from the beginning, and counted as failed where its policy says so",
    BARE: "lost: nothing makes it again",
}
_SHOWN = 5
"""Maximum number of pods in a finding."""


@dataclass(frozen=True, slots=True)
class LivePod:
    """A pod that is bound to a node and has not finished."""

    name: str
    """With its namespace: `lab/train-0`."""
    node: str
    owner: str
    """Kind of the controller that created it: `Deployment`, `Job`; `none` without one."""
    gpus: int
    """NVIDIA devices that its containers hold."""
    claims: int

    @property
    def holds(self) -> bool:
        """Whether it holds GPUs, by a resource or a claim."""
        return bool(self.gpus or self.claims)


@dataclass(frozen=True, slots=True)
class MovingPods:
    """Pods of one kind that leave the nodes of a pool for its change."""

    pool: str
    owner: str
    pods: int
    gpus: int
    claims: int

    @property
    def then(self) -> str:
        """The effect on them."""
        return _THEN.get(self.owner, f"as its {self.owner} decides")


def read_pods(document: Mapping[str, Any]) -> tuple[LivePod, ...] | None:
    """Pods of a List. None if it has none: the nodes' pods are then not known."""
    pods = [one for one in objects(document.get("items")) if one.get("kind") == "Pod"]
    return tuple(_read(pods)) if pods else None


def moving_pods(
    plan: ChangePlan,
    nodes: Sequence[LiveNode],
    reports: Sequence[NodeReport],
    pods: Sequence[LivePod],
) -> tuple[tuple[MovingPods, ...], list[Finding]]:
    """Pods that leave, by pool and kind of owner, and findings about lost pods."""
    done = {report.name for report in reports if report.stage is Stage.CHANGED}
    found: list[MovingPods] = []
    findings: list[Finding] = []
    for change in plan.pools:
        facts = change.kind.facts
        if not facts.get("empties"):
            continue
        names = {node.name for node in nodes if node.labels.get(POOL_LABEL) == change.name}
        # Where nodes stay, a node that is done is not drained again.
        names -= done if facts.get("in_place") else set()
        leave = [pod for pod in pods if pod.node in names and pod.owner not in _STAY]
        for owner in sorted({pod.owner for pod in leave}):
            same = [pod for pod in leave if pod.owner == owner]
            found.append(
                MovingPods(
                    pool=change.name,
                    owner=owner,
                    pods=len(same),
                    gpus=sum(pod.gpus for pod in same),
                    claims=sum(pod.claims for pod in same),
                )
            )
        findings += _lost(change, [pod for pod in leave if pod.owner == BARE])
    return tuple(found), findings


def _lost(change: PoolChange, pods: Sequence[LivePod]) -> Iterable[Finding]:
    if not pods:
        return
    names = ", ".join(pod.name for pod in pods[:_SHOWN])
    more = f" and {len(pods) - _SHOWN} more" if len(pods) > _SHOWN else ""
    yield _finding(
        "change-loses-pods",
        change.path,
        count=len(pods),
        change=change.name,
        names=names,
        more=more,
        pods=[pod.name for pod in pods],
    )


def _read(pods: Iterable[Mapping[str, Any]]) -> Iterable[LivePod]:
    for pod in pods:
        metadata, spec = mapping_at(pod, "metadata"), mapping_at(pod, "spec")
        node = spec.get("nodeName")
        if not isinstance(node, str) or str(mapping_at(pod, "status").get("phase")) in _FINISHED:
            continue
        # Containers run together, init containers one after the other and before them.
        together = sum(map(_devices, objects(spec.get("containers"))))
        before = max(map(_devices, objects(spec.get("initContainers"))), default=0)
        owner = next(
            (
                str(one.get("kind"))
                for one in objects(metadata.get("ownerReferences"))
                if one.get("controller") is True
            ),
            BARE,
        )
        yield LivePod(
            name=f"{metadata.get('namespace', 'default')}/{metadata.get('name', '?')}",
            node=node,
            owner=_NAMES.get(owner, owner),
            gpus=max(together, before),
            claims=len(objects(spec.get("resourceClaims"))),
        )


def _devices(container: Mapping[str, Any]) -> int:
    limits = mapping_at(mapping_at(container, "resources"), "limits")
    return sum(
        int(count)
        for name, count in limits.items()
        if name.startswith("nvidia.com/") and str(count).isdecimal()
    )
