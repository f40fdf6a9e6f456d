"""Whether a NodePool of Karpenter can make a node for a pod, in the order in which Karpenter asks.

Source: kubernetes-sigs/karpenter `pkg/controllers/provisioning/scheduling` (scheduler.go: NodePools
that are ready, limits, then nodeclaim.go: taints, requirements, instance types by requirements,
resources and offerings). Machines are those of the catalogue; daemons of the node are not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpufleet.catalogue import InstanceType, load
from gpufleet.contract.programs.karpenter_machines import (
    NodeRequirement,
    admits,
    cloud_of,
    demands_gpus,
    excludes_gpus,
    machines,
    read_requirements,
)
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.observed import Seen, SeenPod, amounts, text
from gpufleet_policies.doctor.operands import KEEPS_AWAY, tolerates
from gpufleet_policies.doctor.snapshot import Dump

_GPU = "nvidia.com/gpu"
_OWN = ("karpenter.sh/", "karpenter.k8s.aws/", "eks.amazonaws.com/", "karpenter.k8s.gcp/")
_WELL_KNOWN = (
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/",
    "kubernetes.io/",
    "beta.kubernetes.io/",
)


@dataclass(frozen=True, slots=True)
class PoolAnswer:
    """Whether a NodePool makes a node for the pod."""

    pool: str
    reason: str
    """Empty: it can."""
    kind: str
    """`ready`, `limit`, `taint`, `requirement`, `machine`; empty: it can."""
    change: str
    cost: int


def template(pool: Seen) -> dict[str, Any]:
    """The specification of nodes that a NodePool makes."""
    return mapping(mapping(pool.spec.get("template")).get("spec"))


def requirements(pool: Seen) -> tuple[NodeRequirement, ...]:
    """Its requirements."""
    return read_requirements(template(pool).get("requirements"))


def exhausted(pool: Seen) -> str:
    """The resource whose limit a NodePool has used up; empty: none."""
    limits = amounts(pool.spec.get("limits"))
    used = amounts(pool.status.get("resources"))
    return next((name for name, most in limits.items() if used.get(name, 0) >= most), "")


def makes_gpus(pool: Seen) -> bool:
    """Whether it can make nodes with GPUs at all."""
    found = requirements(pool)
    return not excludes_gpus(found) and (demands_gpus(found) or bool(_types(found)))


def _types(found: tuple[NodeRequirement, ...]) -> list[InstanceType]:
    catalogue = load()
    return [
        row
        for row in machines(cloud_of(found), catalogue)
        if all(admits(row, one, catalogue) for one in found)
    ]


def pool_answers(cluster: Dump, pod: SeenPod) -> tuple[PoolAnswer, ...]:
    """An answer of each NodePool."""
    return tuple(_answer(pod, one) for one in cluster.all("NodePool") if _is_own(one))


def _is_own(one: Seen) -> bool:
    return text(one.raw.get("apiVersion")).startswith("karpenter.sh/")


def _answer(pod: SeenPod, pool: Seen) -> PoolAnswer:
    name = pool.name
    if pool.conditions.get("Ready", {}).get("status") == "False":
        why = f"NodePool {name} is not ready"
        return PoolAnswer(name, why, "ready", f"make the NodePool {name} ready", 2)
    for taint in map(mapping, items(template(pool).get("taints"))):
        keeps = taint.get("effect") in KEEPS_AWAY
        if keeps and not tolerates(pod.spec.get("tolerations"), taint):
            key = text(taint.get("key"))
            return PoolAnswer(
                name,
                f"did not tolerate taint {key}={text(taint.get('value'))}:{taint.get('effect')}",
                "taint",
                f"add the toleration {{key: {key}, operator: Exists}}",
                1,
            )
    found = requirements(pool)
    wanted = read_requirements(_selection(pod))
    wrong = _incompatible(pool, found, wanted)
    if wrong:
        return PoolAnswer(
            name, f"incompatible requirements: {wrong}", "requirement", f"change {wrong}", 5
        )
    if pod.devices:
        answer = _machine(name, pod, (*found, *wanted))
        if answer is not None:
            return answer
    used_up = exhausted(pool)
    if used_up:
        limit = mapping(pool.spec.get("limits")).get(used_up)
        return PoolAnswer(
            name,
            f"all available instance types exceed limits for nodepool ({used_up}: {limit})",
            "limit",
            f"raise limits[{used_up}] above {limit}",
            1,
        )
    return PoolAnswer(name, "", "", f"none: NodePool {name} can make a node for it", 0)


def _selection(pod: SeenPod) -> list[dict[str, Any]]:
    """nodeSelector and the first term of the required affinity, which Karpenter tries first."""
    found: list[dict[str, Any]] = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in mapping(pod.spec.get("nodeSelector")).items()
    ]
    affinity = mapping(mapping(pod.spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = items(required.get("nodeSelectorTerms"))
    if terms:
        found += map(mapping, items(mapping(terms[0]).get("matchExpressions")))
    return found


def _incompatible(
    pool: Seen, found: tuple[NodeRequirement, ...], wanted: tuple[NodeRequirement, ...]
) -> str:
    """A selection of the pod that no node of the pool satisfies, in words; empty: none."""
    labels: Mapping[str, Any] = mapping(
        mapping(mapping(pool.spec.get("template")).get("metadata")).get("labels")
    )
    for one in wanted:
        said = f"{one.key} {one.operator} {', '.join(one.values)}".rstrip()
        if one.key == "karpenter.sh/nodepool":
            if one.operator == "In" and pool.name not in one.values:
                return said
            continue
        if one.key in labels:
            if one.operator == "In" and str(labels[one.key]) not in one.values:
                return said
            continue
        own = [r for r in found if r.key == one.key]
        if not own:
            unknown = not one.key.startswith((*_OWN, *_WELL_KNOWN))
            if one.operator in {"In", "Exists", "Gt", "Lt"} and unknown:
                return f"{said} (no label of the pool)"
            continue
        for rule in own:
            both = one.operator == rule.operator == "In"
            excluded = one.operator == "In" and rule.operator == "NotIn"
            apart = both and not set(one.values) & set(rule.values)
            if apart or (excluded and set(one.values) <= set(rule.values)):
                return said
    return ""


def _machine(name: str, pod: SeenPod, found: tuple[NodeRequirement, ...]) -> PoolAnswer | None:
    rows = [] if excludes_gpus(found) else _types(found)
    asked = pod.devices
    others = [one for one in asked if one != _GPU]
    if others and rows:
        return None  # shares and slices: what nodes will offer is not in a NodePool
    enough = [row for row in rows if _gpus(row) >= asked.get(_GPU, 0)]
    if not enough:
        most = max(map(_gpus, rows), default=0)
        why = (
            f"no instance type has {asked.get(_GPU, 0)} of {_GPU} (the largest has {most})"
            if rows
            else f"no instance type of it has {', '.join(asked)}"
        )
        change = (
            f"ask for at most {most} of {_GPU}, or admit larger machines in NodePool {name}"
            if rows
            else f"admit machines with GPUs in NodePool {name}"
        )
        return PoolAnswer(name, why, "machine", change, 5 if rows else 7)
    for row in enough:
        memory = row.memory_bytes
        fits_cpu = row.vcpu is None or pod.requests.get("cpu", Fraction(0)) <= row.vcpu
        if fits_cpu and (memory is None or pod.requests.get("memory", Fraction(0)) <= memory):
            return None
    why = "no instance type has enough cpu and memory beside the GPUs"
    return PoolAnswer(name, why, "machine", "ask for less cpu or memory", 4)


def _gpus(row: InstanceType) -> int:
    accelerator = row.accelerator
    return accelerator.api_count or accelerator.count or 0
