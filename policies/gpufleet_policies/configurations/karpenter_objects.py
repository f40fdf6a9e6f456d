"""Kind `karpenter`: NodePool, EC2NodeClass and NodeOverlay, with the workloads next to them.

All documents of the text count, as for `kubectl apply`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.karpenter_keys import CODES, FORMER, VERSIONS
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import SCHEMA_RULES, SchemaProblem, object_problems, report_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.karpenter_class import validate_class, validate_overlay
from gpufleet_policies.configurations.karpenter_pool import validate_pool
from gpufleet_policies.configurations.karpenter_workloads import validate_gpus
from gpufleet_policies.configurations.objects import Object, objects

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
    report = CheckReport(RULES)
    found = _sorted(list(objects(read)), report)
    if not (found.pools or found.classes or found.overlays or found.former):
        report.add(
            "karpenter-nothing-to-judge",
            "",
            "there is no NodePool, EC2NodeClass or NodeOverlay here",
            "give the manifests of Karpenter's pools",
        )
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
    report.add(
        "karpenter-version-not-served",
        child(path, "apiVersion"),
        f"{what} is not served by Karpenter 1",
        fix,
        value=shown(what),
    )


def _name(item: Mapping[str, Any]) -> str:
    return str(value_at(item, "metadata.name"))


def _class_name(pool: Mapping[str, Any]) -> str:
    return str(value_at(pool, "spec.template.spec.nodeClassRef.name"))
