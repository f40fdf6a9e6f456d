"""Kind `autoscaler`: HorizontalPodAutoscaler, ScaledObject and ScaledJob, with their targets.

All documents of the text count, as for `kubectl apply`; a target that is not among them is
unknown.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.cluster.scaling import AutoscalerTarget, TargetKey
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.autoscaler_signals import target_of
from gpufleet.contract.programs.go_json import integer
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import (
    SCHEMA_RULES,
    object_problems,
    report_problems,
    schema_codes,
)
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.autoscaler_keda import validate_keda
from gpufleet_policies.configurations.autoscaler_wrong_signal import (
    HOST_SIGNALS,
    validate_cpu,
    validate_signal,
)
from gpufleet_policies.configurations.objects import objects

CODES = schema_codes()
RULES = rule_table(
    *written_rules(Path(__file__).with_name("autoscaler_rules.jsonl")), *SCHEMA_RULES
)

VERSIONS = {
    "HorizontalPodAutoscaler": ("autoscaling/v2", "autoscaling/v1"),
    "ScaledObject": ("keda.sh/v1alpha1",),
    "ScaledJob": ("keda.sh/v1alpha1",),
}


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate every autoscaler of the text against its target and the others."""
    report = CheckReport(RULES)
    found = list(objects(read))
    scalers = [one for one in found if str(one[1].get("kind")) in VERSIONS]
    if not scalers:
        report.add(
            "autoscaler-nothing-to-judge",
            "",
            "there is no HorizontalPodAutoscaler, ScaledObject or ScaledJob here",
            "give the autoscalers, and their workloads next to them",
        )
        return report.validation()
    targets = {**context.targets, **{_own_key(item): target_of(item) for _, item in found}}
    taken: dict[TargetKey, str] = {}
    for path, item in scalers:
        kind, version = str(item["kind"]), str(item.get("apiVersion"))
        spec = as_mapping(item.get("spec")) or {}
        place = child(path, "spec")
        key = None if kind == "ScaledJob" else _target_key(item, spec)
        target = targets.get(key) if key is not None else None
        if key is not None:
            _alone(key, place, str(item["kind"]), taken, report)
        if kind == "HorizontalPodAutoscaler":
            _hpa(place, spec, target, report)
        else:
            validate_keda(path, item, spec, target, report)
        if version in VERSIONS[kind]:
            problems = object_problems(item, version.partition("/")[0])
            report_problems(problems, CODES, report, path)
    return report.validation()


def _alone(
    key: TargetKey, place: str, kind: str, taken: dict[TargetKey, str], report: CheckReport
) -> None:
    if key in taken:
        report.add(
            "autoscaler-two-of-one-target",
            child(place, "scaleTargetRef"),
            f"{key[0]} {key[2]} is scaled by a {taken[key]} already",
            "keep one of them",
            target=key[2],
        )
    taken.setdefault(key, kind)


def _hpa(
    place: str, spec: Mapping[str, Any], target: AutoscalerTarget | None, report: CheckReport
) -> None:
    if integer(spec.get("minReplicas")) == 0:
        report.add(
            "autoscaler-zero-without-keda",
            child(place, "minReplicas"),
            "Kubernetes' autoscaler keeps at least one replica",
            "write 1, or scale by a ScaledObject of KEDA",
            found=0,
            limit=1,
        )
    metrics = as_list(spec.get("metrics")) or []
    names: list[str] = []
    for index, one in enumerate(metrics):
        where = child(child(place, "metrics"), index)
        name = _metric_name(as_mapping(one) or {}, where, report)
        names.append(name)
        validate_signal(name, where, target, report)
    if target is not None and target.accelerators and set(names) <= set(HOST_SIGNALS):
        never = target.lacks_cpu and (not metrics or "Utilization" in str(metrics))
        validate_cpu(child(place, "metrics"), names, report, never=never)


def _metric_name(metric: Mapping[str, Any], where: str, report: CheckReport) -> str:
    """The name of a metric, of whatever type."""
    for kind in ("resource", "containerResource"):
        resource = as_mapping(metric.get(kind))
        if resource is not None:
            name = str(resource.get("name"))
            if name not in HOST_SIGNALS:
                report.add(
                    "autoscaler-resource-without-metric",
                    child(child(where, kind), "name"),
                    f"there is no resource metric {name}: metrics-server knows cpu and memory",
                    "write a Pods metric that prometheus-adapter serves, such as the running "
                    "requests of the server",
                    found=name,
                )
            return name
    for kind in ("pods", "object", "external"):
        part = as_mapping(value_at(metric, f"{kind}.metric"))
        if part is not None:
            return str(part.get("name"))
    return ""


def _own_key(item: Mapping[str, Any]) -> TargetKey:
    metadata = as_mapping(item.get("metadata")) or {}
    return str(item.get("kind")), _namespace(metadata), str(metadata.get("name"))


def _target_key(item: Mapping[str, Any], spec: Mapping[str, Any]) -> TargetKey | None:
    named = as_mapping(spec.get("scaleTargetRef"))
    if named is None or not isinstance(named.get("name"), str):
        return None
    kind = str(named.get("kind") or "Deployment")
    return kind, _namespace(as_mapping(item.get("metadata")) or {}), str(named["name"])


def _namespace(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get("namespace") or "default")
