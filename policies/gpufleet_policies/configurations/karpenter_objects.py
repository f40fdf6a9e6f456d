"""Kind `karpenter`: NodePool, EC2NodeClass and NodeOverlay, with the workloads next to them.

All documents of the text count, as for `kubectl apply`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.catalogue import AWS, load
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.karpenter_keys import CODES, FORMER, VERSIONS
from gpufleet.contract.programs.karpenter_machines import (
    NodeRequirement,
    admits,
    names,
    read_requirements,
    selected,
)
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import SCHEMA_RULES, SchemaProblem, object_problems, report_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, entries_at, mapping_at, value_at
from gpufleet.documents.quantities import quantity
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.karpenter_class import validate_class, validate_overlay
from gpufleet_policies.configurations.karpenter_pool import validate_pool
from gpufleet_policies.configurations.objects import Object, objects

GPU = "nvidia.com/gpu"
NODE_POOL = "karpenter.sh/nodepool"
Objects = Sequence[tuple[str, dict[str, Any]]]


def validate_gpus(
    workloads: Objects, pools: Objects, overlays: Sequence[Mapping[str, Any]], report: CheckReport
) -> None:
    """Pods that request more GPUs than a machine of any pool of the text has."""
    if any(GPU in mapping_at(overlay, "spec.capacity") for overlay in overlays):
        return  # an overlay states the resources of a node
    offers = {path: _most_gpus(pool) for path, pool in pools}
    for path, item in workloads:
        place, spec = _pod_spec(path, item)
        asked = _gpus(spec)
        selector = mapping_at(spec, "nodeSelector")
        pinned = [(p, pool) for p, pool in pools if _selects(selector, pool)]
        if selector and not pinned:
            continue  # other nodes than those of these pools
        found = pinned or list(pools)
        most = [offers[p] for p, _ in found]
        if not asked or not found or None in most or max(m for m in most if m is not None) >= asked:
            continue
        vendors = sorted({v for _, pool in found for v in _vendors(pool)} - {"nvidia"})
        largest = max(m for m in most if m is not None)
        report.add(
            "karpenter-pod-fits-no-pool",
            place,
            f"{item.get('kind')} {_name(item)} requests {asked} {GPU}, and machines of "
            f"{', '.join(_name(pool) for _, pool in found)} have at most {largest}"
            + (f"; their GPUs are of {', '.join(vendors)}" if vendors and not largest else ""),
            f"allow machines with {asked} GPUs of NVIDIA, or request {largest}"
            if largest
            else "allow machines with GPUs of NVIDIA",
            value=asked,
            limit=largest,
        )


def _most_gpus(pool: Mapping[str, Any]) -> int | None:
    """Maximum number of GPUs that Karpenter counts on a machine of a pool; None where labels
    partition or share them."""
    labels = mapping_at(pool, "spec.template.metadata.labels")
    if any(label.startswith("nvidia.com/") for label in labels):
        return None
    rows = selected(_requirements(pool))
    counts = [row.accelerator.count if row.accelerator.api_count is None
              else row.accelerator.api_count for row in rows]  # fmt: skip
    return None if None in counts else max((c for c in counts if c is not None), default=0)


def _vendors(pool: Mapping[str, Any]) -> set[str]:
    """Vendors of the GPUs of machines that the pool names."""
    requirements = _requirements(pool)
    rows = (row for row in load().instances.values() if row.cloud == AWS)
    named = (
        row
        for row in rows
        if names(row, requirements) and all(admits(row, one) for one in requirements)
    )
    return {load().gpu(row.accelerator.gpu).vendor for row in named}


def _requirements(pool: Mapping[str, Any]) -> tuple[NodeRequirement, ...]:
    return read_requirements(value_at(pool, "spec.template.spec.requirements"))


def _gpus(spec: Mapping[str, Any]) -> int:
    """GPUs of NVIDIA that the containers of a pod request."""
    total = 0
    for _, container in entries_at(spec, "containers"):
        limits = mapping_at(container, "resources.limits")
        amount = quantity(str(limits.get(GPU, 0)))
        total += int(amount) if amount is not None else 0
    return total


def _pod_spec(path: str, item: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The pod's spec of a Pod, a controller or a CronJob."""
    ways = {"Pod": "spec", "CronJob": "spec.jobTemplate.spec.template.spec"}
    way = ways.get(str(item.get("kind")), "spec.template.spec")
    return f"{path}.{way}" if path else way, mapping_at(item, way)


def _selects(selector: Mapping[str, Any], pool: Mapping[str, Any]) -> bool:
    """Whether the selector names the pool, or one of the labels it gives to its nodes."""
    if selector.get(NODE_POOL) is not None:
        return selector[NODE_POOL] == _name(pool)
    labels = mapping_at(pool, "spec.template.metadata.labels")
    shared = {key for key in selector if key in labels}
    return bool(shared) and all(selector[key] == labels[key] for key in shared)


RULES = rule_table(
    *written_rules(Path(__file__).with_name("karpenter_rules.jsonl")),
    *SCHEMA_RULES,
)


__all__ = ["RULES", "validate"]


@dataclass(slots=True)
class _Found:
    pools: list[Object] = field(default_factory=list[Object])
    classes: dict[str, Object] = field(default_factory=dict[str, Object])
    overlays: list[Object] = field(default_factory=list[Object])
    workloads: list[Object] = field(default_factory=list[Object])
    former: bool = False


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate every object of the text, alone and against the others."""
    report = CheckReport(RULES, texts=Path(__file__).parent)
    found = _sorted(list(objects(read)), report)
    if not (found.pools or found.classes or found.overlays or found.former):
        report.say("karpenter-nothing-to-judge", "")
        return report.validation()
    overlays = [item for _, item in found.overlays]
    for path, item in found.pools:
        name = _class_name(item)
        _, its_class = found.classes.get(name, ("", None))
        validate_pool(path, item, its_class, overlays, report)
        _validate_shape(path, item, report)
    for path, item in found.classes.values():
        pools = [pool for _, pool in found.pools if _class_name(pool) == _name(item)]
        validate_class(path, item, pools, context, report)
        _validate_shape(path, item, report)
    for path, item in found.overlays:
        validate_overlay(path, item, context, report)
        _validate_shape(path, item, report)
    validate_gpus(found.workloads, found.pools, overlays, report)
    return report.validation()


def _validate_shape(path: str, item: Mapping[str, Any], report: CheckReport) -> None:
    version = VERSIONS[str(item["kind"])]
    if item.get("apiVersion") == version:
        problems = object_problems(item, version.partition("/")[0])
        report_problems(problems, CODES, report, path, _special_code)


def _special_code(problem: SchemaProblem) -> str | None:
    """Finding code of operators, which have a separate one."""
    operator = problem.steps[-1] == "operator" and "requirements" in problem.steps
    return "karpenter-requirement-invalid" if operator else None


def _sorted(objects: Sequence[Object], report: CheckReport) -> _Found:
    found = _Found()
    for path, item in objects:
        kind, version = str(item.get("kind")), str(item.get("apiVersion"))
        if kind in FORMER and version.startswith(("karpenter.sh/", "karpenter.k8s.aws/")):
            _not_served(path, kind, f"write a {FORMER[kind]}", report)
            found.former = True
        elif kind not in VERSIONS:
            found.workloads.append((path, item))
            continue
        elif version != VERSIONS[kind]:
            fix = f"write apiVersion: {VERSIONS[kind]}"
            if "expireAfter" in mapping_at(item, "spec.disruption"):
                fix += ", and move expireAfter from spec.disruption to spec.template.spec"
            _not_served(path, f"{kind} {version}", fix, report)
        if kind == "NodePool":
            found.pools.append((path, item))
        elif kind == "EC2NodeClass":
            found.classes[_name(item)] = (path, item)
        elif kind == "NodeOverlay":
            found.overlays.append((path, item))
    return found


def _not_served(path: str, what: str, fix: str, report: CheckReport) -> None:
    report.say(
        "karpenter-version-not-served",
        child(path, "apiVersion"),
        value=shown(what),
        what=what,
        fix=fix,
    )


def _name(item: Mapping[str, Any]) -> str:
    return str(value_at(item, "metadata.name"))


def _class_name(pool: Mapping[str, Any]) -> str:
    return str(value_at(pool, "spec.template.spec.nodeClassRef.name"))
