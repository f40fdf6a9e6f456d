"""Causes that a Node object states: not ready, health agents, XID errors, kept back, tainted.

Sources: NVSentinel (docs.nvidia.com/nvsentinel, conditions `Gpu*Watch`, `SysLogs*`); aws/
eks-node-monitoring-agent (`AcceleratedHardwareReady`, reasons `Nvidia*`); Azure/AKS node problem
detector (`GPUMissing`, `XIDErrors`); kubernetes/autoscaler `cluster-autoscaler/utils/taints`;
kubernetes-sigs/karpenter `pkg/apis/v1/taints.go`; NVIDIA/k8s-operator-libs 1090aef `pkg/upgrade`.
"""

import re
from collections.abc import Iterator, Mapping

from gpufleet.change.live_node import CORDONED_BEFORE, UNDER_WAY, UPGRADE, UPGRADED
from gpufleet.findings import Severity
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.observed import Node, text
from gpufleet_policies.doctor.xids import CATALOGUE, Xid, xid_in

_NVSENTINEL = "https://docs.nvidia.com/nvsentinel/runbooks/node-conditions.md"
_AGENT = "https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html"
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


def condition(node: Node, kind: str) -> Evidence:
    """Status and reason of a condition."""
    found = node.conditions.get(kind, {})
    value = f"{text(found.get('status'))} ({text(found.get('reason')) or 'no reason'})"
    return Evidence(node.ref, f"status.conditions[{kind}]", value)


def promised(patient: Patient, node: Node) -> int:
    """Devices that a node gives when it is well: what it has counted, else what its pool gives."""
    counted = sum(int(v) for n, v in node.capacity.items() if n in node.devices)
    if counted or patient.fleet is None:
        return counted or int(node.labels.get("nvidia.com/gpu.count", "0").split(".")[0] or 0)
    pools = {pool.name: pool for pool in patient.fleet.pools}
    pool = pools.get(node.labels.get(POOL_LABEL, ""))
    return 0 if pool is None else sum(pool.advertised.values())


@cause("node-not-ready")
def not_ready(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.live.ready or not node.has_nvidia:
            continue
        silent = text(node.conditions["Ready"].get("status")) == "Unknown"
        yield found_at(
            node,
            condition(node, "Ready"),
            chain=(
                "the kubelet or the machine stopped reporting"
                if silent
                else "the kubelet reports that it cannot run pods",
                "the scheduler binds no pod there, and pods on it are evicted",
            ),
        )


def _faults(node: Node) -> Iterator[tuple[str, Xid | None, str]]:
    """Conditions about GPUs that say something is wrong: type, XID, what its message names."""
    for kind, one in node.conditions.items():
        status = text(one.get("status"))
        bad = status == "False" if kind in _READY_TYPES else status == "True"
        if not bad or not (kind in _READY_TYPES or _NAMES_FAULT.fullmatch(kind)):
            continue
        if kind not in _READY_TYPES and kind.endswith("Ready"):
            continue
        said = f"{text(one.get('reason'))} {text(one.get('message'))}"
        yield kind, xid_in(said), ", ".join(dict.fromkeys(_DETAIL.findall(said)))


@cause("gpu-xid")
def gpu_xid(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        for kind, row, _ in _faults(node):
            if row is not None:
                yield found_at(node, condition(node, kind), fix=row.fix(node.name), row=row)
                break


@cause("node-health-condition")
def health_condition(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.ref in patient.explained:
            continue
        for kind, _, detail in _faults(node):
            named = f" ({detail})" if detail else ""
            yield found_at(node, condition(node, kind), kind=kind, named=named)
            break


@cause("node-left-cordoned")
def cordoned(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        live = node.live
        state = live.labels.get(UPGRADE, "")
        busy = live.state in UNDER_WAY or state not in UPGRADED or bool(live.paused)
        if not live.cordoned or not node.has_nvidia or busy or live.state == "failed":
            continue
        if node.ref in patient.explained:
            continue
        before = CORDONED_BEFORE in live.annotations
        yield found_at(
            node,
            Evidence(node.ref, "spec.unschedulable", "true"),
            a=" (it was cordoned before its driver upgrade, which left it so)" if before else "",
        )


@cause("node-taint-left")
def taint_left(patient: Patient) -> Iterator[Found]:
    pools = {} if patient.fleet is None else {pool.name: pool for pool in patient.fleet.pools}
    for node in patient.cluster.nodes.values():
        pool = pools.get(node.labels.get(POOL_LABEL, ""))
        if not node.has_nvidia or node.ref in patient.explained:
            continue
        known = set[str]() if pool is None else {taint.key for taint in pool.taints}
        options = None if pool is None else pool.spec.karpenter
        starting = set[str]() if options is None else {one.key for one in options.startup_taints}
        for taint in node.taints:
            key, effect = text(taint.get("key")), text(taint.get("effect"))
            fix = PASSING.get(key)
            foreign = fix is None and (pool is None or key in known)
            if foreign or fix == "" or key in known or effect == "PreferNoSchedule":
                continue
            why = ": what sets it at the start has not removed it" if key in starting else ""
            declared = "" if pool is None else f", which {pool.name} does not declare"
            yield found_at(
                node,
                Evidence(node.ref, "spec.taints", f"{key}:{effect}"),
                fix=fix.format(name=node.name)
                if fix is not None
                else f"kubectl taint node {node.name} {key}:{effect}-, or declare it under taints",
                declared=declared,
                key=key,
                effect=effect,
                why=why,
            )


CAUSES = (not_ready, gpu_xid, health_condition, cordoned, taint_left)
