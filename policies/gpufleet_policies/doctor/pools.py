"""Whether a NodePool of Karpenter can create a node for a pod, in Karpenter's order of checks.

Source: kubernetes-sigs/karpenter v1.14.1 `pkg/controllers/provisioning` (provisioner.go: NodePools
that are ready and not static; scheduling/scheduler.go: machines within the limits; nodeclaim.go:
taints, requirements, machines), `pkg/scheduling/requirements.go`. Machines are those of the
catalogue; daemons of the node are not counted.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from gpufleet.documents.paths import mapping_at
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.blockers import Answer, Blocker, blocker
from gpufleet_policies.doctor.fit import asked_text, shown, untolerated
from gpufleet_policies.doctor.observed import Seen, SeenPod, entries, text
from gpufleet_policies.doctor.snapshot import Dump
from gpufleet_policies.names import names
from gpufleet_policies.readers.reserved import amounts
from gpufleet_policies.readers.scheduling import meets, selections

_GPU = "nvidia.com/gpu"
_WELL_KNOWN = names("beginning of a label of machines")
"""Labels that machines have without a requirement of the NodePool."""


def template(pool: Seen) -> dict[str, Any]:
    """The specification of nodes that a NodePool makes."""
    return mapping(mapping(pool.spec.get("template")).get("spec"))


def makes_gpus(pool: Seen) -> bool:
    """Whether it can make nodes with GPUs at all."""
    found = read_requirements(template(pool).get("requirements"))
    return not excludes_gpus(found) and (demands_gpus(found) or bool(selected(found)))


def pool_answers(cluster: Dump, pod: SeenPod) -> tuple[Answer, ...]:
    """A result for each NodePool that creates nodes for pods; those with `replicas` do not."""
    pools = (one for one in cluster.all("NodePool") if "replicas" not in one.spec)
    return tuple(
        _answer(pod, one)
        for one in pools
        if text(one.raw.get("apiVersion")).startswith("karpenter.sh/")
    )


def _answer(pod: SeenPod, pool: Seen) -> Answer:
    """The nearest of alternative terms; Karpenter reports the last one that it tried."""
    choices = selections(pod.spec) or [[]]
    found = [tuple(_blockers(pod, pool, one)) for one in choices]
    nearest = min(found, key=lambda one: sum(blocker.cost for blocker in one))
    return Answer(pool.name, nearest, found[-1][0] if nearest else None)


def _blockers(pod: SeenPod, pool: Seen, asked: list[dict[str, Any]]) -> Iterator[Blocker]:
    if pool.conditions.get("Ready", {}).get("status") not in {"True", None}:
        wrong = [kind for kind, one in pool.conditions.items() if one.get("status") == "False"]
        yield blocker("pool ready", why=", ".join(wrong), at=pool.name)
    if pod.claims and not pod.devices:
        yield blocker("pool claims")
    raws, limits = items(template(pool).get("requirements")), mapping(pool.spec.get("limits"))
    rows, used = _rows(read_requirements(raws)), amounts(pool.status.get("resources"))
    left = {key: most - used.get(key, 0) for key, most in amounts(limits).items()}
    within = {row for row in rows if all(_has(row, key) <= rest for key, rest in left.items())}
    limit = ", ".join(left), ", ".join(f"{key}: {limits[key]}" for key in left)
    if any(rest <= 0 for rest in left.values()) or (rows and not within):
        yield blocker("pool limit", *limit, at=pool.name)
        within = set(rows)
    yield from untolerated(
        "pool taint", pod.spec.get("tolerations"), entries(template(pool), "taints")
    )
    apart = {at: said for at, one in enumerate(asked) if (said := _incompatible(pool, raws, one))}
    if apart:
        said = list(apart.values())
        many, both = len(said), " and ".join(said)
        yield blocker("pool requirement", why=said[0], wrong=both, times=many)
    if pod.devices:
        wanted = [one for at, one in enumerate(asked) if at not in apart]
        chosen = _rows(read_requirements([*raws, *wanted]))
        for name, about, values in _machines(pod, chosen, within):
            yield blocker(name, *(limit if not about else (about,)), at=pool.name, **values)


def _rows(found: Sequence[NodeRequirement]) -> list[InstanceType]:
    return [] if excludes_gpus(found) else list(selected(found))


def _has(row: InstanceType, resource: str) -> Fraction:
    """Amount of a resource on a machine; an unknown amount counts as 0."""
    accelerator = row.accelerator
    gpus = accelerator.api_count or accelerator.count
    known = {"cpu": row.vcpu, "memory": row.memory_bytes, _GPU: gpus, "nodes": 1}
    return Fraction(known.get(resource) or 0)


def _incompatible(pool: Seen, raws: Sequence[Any], one: Mapping[str, Any]) -> str:
    """A requirement of a pod that no node of the pool satisfies, in words; empty: one does."""
    key, said = text(one.get("key")), asked_text(one)
    labels = mapping_at(pool.spec, "template.metadata.labels") | {
        "karpenter.sh/nodepool": pool.name
    }
    own = [rule for rule in map(mapping, raws) if rule.get("key") == key]
    if key in labels:
        own.append({"key": key, "operator": "In", "values": [str(labels[key])]})
    if not own:
        is_free = key.startswith(_WELL_KNOWN) or meets(one, {})
        return "" if is_free else f"{said} (no label of the pool)"
    rules = [*own, one]
    named = {str(value) for rule in rules for value in items(rule.get("values"))}
    beside = {str(int(v) + step) for v in named if v.isdecimal() for step in (-1, 1)}
    nodes = [{}, *({key: value} for value in (*named, *beside, "another"))]
    return "" if any(all(meets(rule, node) for rule in rules) for node in nodes) else said


def _machines(
    pod: SeenPod, rows: Sequence[InstanceType], within: set[InstanceType]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Missing resources of the best machine: a row, the resource, and values of its texts."""
    if not rows:
        yield "pool machine", ", ".join(pod.devices), {}
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
        most = "at most" if part == _GPU else "less than"
        values = {"asked": asked, "has": has, "most": most, "machine": best.name}
        yield "pool size", part, values
    if best not in within:
        yield "pool limit of machines", "", {}
