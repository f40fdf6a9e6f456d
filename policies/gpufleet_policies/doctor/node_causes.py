"""Causes that a Node object states: not ready, health agents, XID errors, kept back, tainted.

Sources: NVSentinel (docs.nvidia.com/nvsentinel, conditions `Gpu*Watch`, `SysLogs*`); aws/
eks-node-monitoring-agent (`AcceleratedHardwareReady`, reasons `Nvidia*`); Azure/AKS node problem
detector (`GPUMissing`, `XIDErrors`); kubernetes/autoscaler `cluster-autoscaler/utils/taints`;
kubernetes-sigs/karpenter `pkg/apis/v1/taints.go`; NVIDIA/k8s-operator-libs 1090aef `pkg/upgrade`.
"""

import re
from collections.abc import Iterator, Mapping

from gpufleet.change.live_node import CORDONED_BEFORE, UNDER_WAY, UPGRADE, UPGRADED
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, found_at, of_nodes
from gpufleet_policies.doctor.observed import SeenNode, text
from gpufleet_policies.doctor.xids import Xid, xid_in

_NAMES_FAULT = re.compile(
    r"(Gpu|GPU|SysLogs|Nvidia|NVIDIA|XID|IB|Nvlink|NVLink|NVSwitch|Accelerator)\w*"
)
"""Types of conditions about GPUs, which are True when something is wrong."""
_READY_TYPES = ("AcceleratedHardwareReady",)
"""Types that are True when all is well."""
_DETAIL = re.compile(r"\b(?:DCGM_FR_\w+|DCGM_HEALTH_\w+|Recommended ?Action=\w+)")
"""What may be repeated of a message: names of its program."""

PASSING: Mapping[str, str] = {
    "node.kubernetes.io/unschedulable": "",
    "node.kubernetes.io/not-ready": "",
    "node.kubernetes.io/unreachable": "",
    "karpenter.sh/unregistered": "the node never registered with Karpenter: look at its log, then "
    "`kubectl delete node {name}`",
    "karpenter.sh/disrupted": "Karpenter is replacing the node; if that was given up, it takes the "
    "taint away itself when its controller runs",
    "ToBeDeletedByClusterAutoscaler": "Cluster Autoscaler was to delete the node and did not: if "
    "its log names no deletion under way, `kubectl taint node {name} "
    "ToBeDeletedByClusterAutoscaler-`",
    "DeletionCandidateOfClusterAutoscaler": "",
    "node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller manager has not seen "
    "the node: look at its log",
}
"""Taints that others set for a time: what is done when they stay; empty: another finding says so,
or they keep no pod away."""


def condition(node: SeenNode, kind: str) -> Sign:
    """Status and reason of a condition."""
    found = node.conditions.get(kind, {})
    value = f"{text(found.get('status'))} ({text(found.get('reason')) or 'no reason'})"
    return Sign(node.ref, f"status.conditions[{kind}]", value)


@of_nodes("node-not-ready")
def _not_ready(patient: Patient, node: SeenNode) -> Sighting | None:
    if node.live.ready:
        return None
    silent = text(node.conditions["Ready"].get("status")) == "Unknown"
    why = "the kubelet or the machine stopped reporting" if silent else "the kubelet says so itself"
    return found_at(node, condition(node, "Ready"), why=why)


def _faults(node: SeenNode) -> Iterator[tuple[str, Xid | None, str]]:
    """Conditions about GPUs that say something is wrong: type, XID, what its message names."""
    for kind, one in node.conditions.items():
        bad = "False" if kind in _READY_TYPES else "True"
        named = kind in _READY_TYPES or (_NAMES_FAULT.fullmatch(kind) and kind[-5:] != "Ready")
        if named and one.get("status") == bad:
            said = f"{text(one.get('reason'))} {text(one.get('message'))}"
            yield kind, xid_in(said), ", ".join(dict.fromkeys(_DETAIL.findall(said)))


@of_nodes("gpu-xid")
def _xid(patient: Patient, node: SeenNode) -> Sighting | None:
    for kind, row, _ in _faults(node):
        if row is not None:
            return found_at(node, condition(node, kind), row=row, fix_of_xid=row.fix(node.name))
    return None


@of_nodes("node-health-condition")
def _condition(patient: Patient, node: SeenNode) -> Sighting | None:
    for kind, _, detail in _faults(node):
        named = f" ({detail})" if detail else ""
        return found_at(node, condition(node, kind), kind=kind, named=named)
    return None


@of_nodes("node-left-cordoned")
def _cordoned(patient: Patient, node: SeenNode) -> Sighting | None:
    live = node.live
    busy = live.state in {*UNDER_WAY, "failed"} or live.labels.get(UPGRADE, "") not in UPGRADED
    if not live.cordoned or busy or live.paused:
        return None
    before = " (it was cordoned before its driver upgrade, which left it so)"
    return found_at(
        node,
        Sign(node.ref, "spec.unschedulable", "true"),
        before=before if CORDONED_BEFORE in live.annotations else "",
    )


@of_nodes("node-taint-left")
def _taint_left(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    known = set[str]() if pool is None else {taint.key for taint in pool.taints}
    options = None if pool is None else pool.spec.karpenter
    starting = set[str]() if options is None else {one.key for one in options.startup_taints}
    for taint in node.taints:
        key, effect = text(taint.get("key")), text(taint.get("effect"))
        fix = PASSING.get(key)
        if key in known or fix == "" or effect == "PreferNoSchedule":
            continue
        if fix is None and pool is None:
            continue
        by_hand = f"kubectl taint node {node.name} {key}:{effect}-, or declare it under taints"
        return found_at(
            node,
            Sign(node.ref, "spec.taints", f"{key}:{effect}"),
            key=key,
            effect=effect,
            undeclared="" if pool is None else f", which {pool.name} does not declare",
            why=": what sets it at the start has not removed it" if key in starting else "",
            help=by_hand if fix is None else fix.format(name=node.name),
            edit=""
            if pool is None or fix is not None
            else f"{pool.path}.taints: [{{key: {key}, effect: {effect}}}]",
        )
    return None


CAUSES = (_not_ready, _xid, _condition, _cordoned, _taint_left)
