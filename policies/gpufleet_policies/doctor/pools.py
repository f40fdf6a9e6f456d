"""Whether a NodePool of Karpenter can make a node for a pod, in the order in which Karpenter asks.

Source: kubernetes-sigs/karpenter v1.14.1 `pkg/controllers/provisioning` (provisioner.go: NodePools
that are ready and not static; scheduling/scheduler.go: machines within the limits; nodeclaim.go:
taints, requirements, machines), `pkg/scheduling/requirements.go`. Machines are those of the
catalogue; daemons of the node are not counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from gpufleet.catalogue import InstanceType
from gpufleet.contract.programs.karpenter_machines import (
    NodeRequirement,
    demands_gpus,
    excludes_gpus,
    read_requirements,
    selected,
)
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.fit import Answer, Blocker, meets, required_terms, shown, untolerated
from gpufleet_policies.doctor.observed import Seen, SeenPod, amounts, below, entries, text
from gpufleet_policies.doctor.snapshot import Dump

_GPU = "nvidia.com/gpu"
_WELL_KNOWN = (
    *("karpenter.sh/", "karpenter.k8s.aws/", "eks.amazonaws.com/", "karpenter.k8s.gcp/"),
    *("node.kubernetes.io/", "topology.kubernetes.io/", "kubernetes.io/", "beta.kubernetes.io/"),
)
"""Labels that machines have without a requirement of the NodePool."""


def template(pool: Seen) -> dict[str, Any]:
    """The specification of nodes that a NodePool makes."""
    return mapping(mapping(pool.spec.get("template")).get("spec"))


def makes_gpus(pool: Seen) -> bool:
    """Whether it can make nodes with GPUs at all."""
    found = read_requirements(template(pool).get("requirements"))
    return not excludes_gpus(found) and (demands_gpus(found) or bool(selected(found)))


def pool_answers(cluster: Dump, pod: SeenPod) -> tuple[Answer, ...]:
    """An answer of each NodePool that makes nodes for pods; those with `replicas` do not."""
    pools = (one for one in cluster.all("NodePool") if "replicas" not in one.spec)
    return tuple(
        _answer(pod, one)
        for one in pools
        if text(one.raw.get("apiVersion")).startswith("karpenter.sh/")
    )


def _answer(pod: SeenPod, pool: Seen) -> Answer:
    """Of terms that each are enough the nearest one; Karpenter speaks of the last one it tried."""
    choices = required_terms(pod.spec) or [{}]
    found = [tuple(_blockers(pod, pool, one)) for one in choices]
    nearest = min(found, key=lambda one: sum(blocker.cost for blocker in one))
    return Answer(pool.name, nearest, found[-1][0] if nearest else None)


def _blockers(pod: SeenPod, pool: Seen, term: Mapping[str, Any]) -> Iterator[Blocker]:
    name = pool.name
    if pool.conditions.get("Ready", {}).get("status") not in {"True", None}:
        why = f"NodePool {name} is not ready"
        yield Blocker("ready", why, f"make the NodePool {name} ready", 2)
    if pod.claims and not pod.devices:
        why = "pod has Dynamic Resource Allocation requirements, which Karpenter does not support"
        change = "give the pool nodes of its own (nodes.min), or ask for a resource"
        yield Blocker("claims", why, change, 9)
    raws, limits = items(template(pool).get("requirements")), mapping(pool.spec.get("limits"))
    rows, used = _rows(read_requirements(raws)), amounts(pool.status.get("resources"))
    left = {key: most - used.get(key, 0) for key, most in amounts(limits).items()}
    within = {row for row in rows if all(_has(row, key) <= rest for key, rest in left.items())}
    limit = Blocker(
        "limit",
        "all available instance types exceed limits for nodepool "
        f"({', '.join(f'{key}: {limits[key]}' for key in left)})",
        f"raise the limits of NodePool {name} ({', '.join(left)})",
        1,
    )
    if any(rest <= 0 for rest in left.values()) or (rows and not within):
        yield limit
        within = set(rows)
    taints, why = entries(template(pool), "taints"), "did not tolerate taint {key}={value}:{effect}"
    yield from untolerated("taint", why, pod.spec.get("tolerations"), taints)
    selector = mapping(pod.spec.get("nodeSelector"))
    asked = [
        *({"key": key, "operator": "In", "values": [str(one)]} for key, one in selector.items()),
        *entries(term, "matchExpressions"),
    ]
    wrong = {at: said for at, one in enumerate(asked) if (said := _incompatible(pool, raws, one))}
    if wrong:
        said = list(wrong.values())
        why, change = f"incompatible requirements: {said[0]}", f"change {' and '.join(said)}"
        yield Blocker("requirement", why, change, 2 * len(said))
    if pod.devices:
        wanted = [one for at, one in enumerate(asked) if at not in wrong]
        chosen = _rows(read_requirements([*raws, *wanted]))
        yield from _machines(pod, name, chosen, within, limit)


def _rows(found: Sequence[NodeRequirement]) -> list[InstanceType]:
    return [] if excludes_gpus(found) else list(selected(found))


def _has(row: InstanceType, resource: str) -> Fraction:
    """What a machine has of a resource; what the catalogue does not know counts as nothing."""
    accelerator = row.accelerator
    gpus = accelerator.api_count or accelerator.count
    known = {"cpu": row.vcpu, "memory": row.memory_bytes, _GPU: gpus, "nodes": 1}
    return Fraction(known.get(resource) or 0)


def _incompatible(pool: Seen, raws: Sequence[Any], one: Mapping[str, Any]) -> str:
    """A requirement of a pod that no node of the pool satisfies, in words; empty: one does."""
    key, operator = text(one.get("key")), text(one.get("operator"))
    said = f"{key} {operator} {', '.join(map(str, items(one.get('values'))))}".rstrip()
    labels = below(pool.spec, "template.metadata.labels") | {"karpenter.sh/nodepool": pool.name}
    own = [rule for rule in map(mapping, raws) if rule.get("key") == key]
    if key in labels:
        own.append({"key": key, "operator": "In", "values": [str(labels[key])]})
    if not own:
        is_free = operator in {"NotIn", "DoesNotExist"} or key.startswith(_WELL_KNOWN)
        return "" if is_free else f"{said} (no label of the pool)"
    return said if _are_apart([*own, one]) else ""


def _are_apart(rules: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no value of a label satisfies all requirements of it."""
    operators = {rule.get("operator") for rule in rules}
    if "DoesNotExist" in operators:
        return bool(operators - {"DoesNotExist", "NotIn"})
    listed = [{str(v) for v in items(r.get("values"))} for r in rules if r.get("operator") == "In"]
    left = set[str].intersection(*listed) if listed else set[str]()
    key = text(rules[0].get("key"))
    return bool(listed) and not any(all(meets(r, {key: v}) for r in rules) for v in left)


def _machines(
    pod: SeenPod, name: str, rows: Sequence[InstanceType], within: set[InstanceType], limit: Blocker
) -> Iterator[Blocker]:
    if not rows:
        why = f"no instance type of it has {', '.join(pod.devices)}"
        yield Blocker("machine", why, f"admit machines with GPUs in NodePool {name}", 7)
        return
    if any(one != _GPU for one in pod.devices):
        return  # shares and slices: what nodes will offer is not in a NodePool

    def lacks(row: InstanceType) -> list[str]:
        """Resources of which a machine has too little; the kubelet keeps some CPU and memory."""
        parts = ((one, _has(row, one), pod.requests.get(one, 0)) for one in (_GPU, "cpu", "memory"))
        return [n for n, has, v in parts if (v > has if n == _GPU else has and v >= has)]

    best = min(rows, key=lambda r: (len(lacks(r)), r not in within, -_has(r, _GPU), r.name))
    for part in lacks(best):
        has, asked = shown(part, _has(best, part)), shown(part, pod.requests[part])
        why = f"no instance type has enough resources ({asked} of {part}; {best.name} has {has})"
        most = "at most" if part == _GPU else "less than"
        change = f"ask for {most} {has} of {part}, or admit larger machines in NodePool {name}"
        yield Blocker("machine", why, change, 5)
    if best not in within:
        why = "no instance type within the limits has enough resources"
        yield replace(limit, reason=why)
