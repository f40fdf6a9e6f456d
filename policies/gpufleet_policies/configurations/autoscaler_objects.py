"""Kind `autoscaler`: HorizontalPodAutoscaler, ScaledObject and ScaledJob, with their targets.

All documents of the text count, as for `kubectl apply`; a target that is not among them is
unknown.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.cluster.scaling import AutoscalerTarget, TargetKey
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.autoscaler_signals import (
    is_mean,
    is_missing_on_mig,
    is_of_pods,
    is_of_target,
    is_utilisation,
    renamed,
    target_of,
)
from gpufleet.contract.programs.go_json import integer, shown
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.report import SCHEMA_RULES, report_problems, schema_codes
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.kubernetes_objects import objects

HOST_SIGNALS = ("cpu", "memory")
"""Metrics of metrics-server."""


def validate_signal(
    text: str, where: str, target: AutoscalerTarget | None, report: CheckReport
) -> None:
    """A metric's name or a query, against what the target is."""
    if target is not None and target.sliced and is_missing_on_mig(text):
        report.say("autoscaler-utilisation-on-mig", where, found=shown(text))
    elif is_utilisation(text) and (target is None or target.batches):
        what = "the target is a server that batches" if target is not None else "if it is a server"
        report.say("autoscaler-utilisation-of-server", where, found=shown(text), what=what)


def validate_cpu(where: str, names: list[str], report: CheckReport, *, never: bool) -> None:
    """A target with GPUs that nothing but its host's load scales.

    `never`: not even that does, because the use of CPU is a part of the request
    (pkg/controller/podautoscaler/replica_calculator.go of Kubernetes)."""
    found = " and ".join(sorted(set(names))) or "cpu, the default"
    why = "a server that waits for its GPU needs no CPU"
    if never:
        why = "a container without a CPU request has no use of it, and the autoscaler never scales"
    report.say(
        "autoscaler-cpu-of-gpu-workload", where, found=sorted(set(names)), signals=found, why=why
    )


PROMETHEUS_NEEDS = ("serverAddress", "query", "threshold")


def validate_keda(
    path: str,
    item: Mapping[str, Any],
    spec: Mapping[str, Any],
    target: AutoscalerTarget | None,
    report: CheckReport,
) -> None:
    """Validate a ScaledObject or ScaledJob."""
    place = child(path, "spec")
    triggers = [as_mapping(one) or {} for one in as_list(spec.get("triggers")) or []]
    texts = [_trigger(place, index, one, target, report) for index, one in enumerate(triggers)]
    least, idle = integer(spec.get("minReplicaCount", 0)), integer(spec.get("idleReplicaCount"))
    scaled = str(mapping_at(spec, "scaleTargetRef").get("name", ""))
    of_pods = [is_of_pods(text) or is_of_target(text, scaled) for text in texts]
    report.apply(
        "keda",
        place,
        kind=item.get("kind"),
        spec=spec,
        idle=idle,
        limit=None if least is None else least - 1,
        least=least,
        signals=of_pods,
    )
    if item.get("kind") == "ScaledJob":
        return
    to_zero = 0 in (least, idle)
    silent = [
        index
        for index, one in enumerate(triggers)
        if one.get("type") == "prometheus"
        and str(mapping_at(one, "metadata").get("ignoreNullValues", "true")).lower() != "false"
        and of_pods[index]
    ]
    # Without any of them an empty answer is right, if another trigger starts the pods.
    if silent and (all(of_pods) or not to_zero or as_mapping(spec.get("fallback")) is None):
        which = f", by {len(silent)} triggers" if len(silent) > 1 else ""
        if as_mapping(spec.get("fallback")):
            which += "; its `fallback` is for errors, and an empty answer is not an error"
        where = child(child(child(place, "triggers"), silent[0]), "metadata")
        report.say("autoscaler-silence-is-zero", where, which=which)
    kinds = {str(one.get("type")) for one in triggers}
    if target is not None and target.accelerators and kinds and kinds <= set(HOST_SIGNALS):
        never = target.lacks_cpu and "Utilization" in str(triggers)
        validate_cpu(child(place, "triggers"), sorted(kinds), report, never=never)


def _trigger(
    place: str,
    index: int,
    trigger: Mapping[str, Any],
    target: AutoscalerTarget | None,
    report: CheckReport,
) -> str:
    """Validate one trigger. Gives what it measures: its query, or its metadata as text."""
    where = child(child(place, "triggers"), index)
    metadata = as_mapping(trigger.get("metadata")) or {}
    kind = str(trigger.get("type"))
    if kind != "prometheus":
        return " ".join(str(value) for value in metadata.values())
    missing = [key for key in PROMETHEUS_NEEDS if metadata.get(key) in (None, "")]
    if missing:
        report.say(
            "autoscaler-metadata-missing",
            child(where, "metadata"),
            missing=missing,
            first=missing[0],
        )
    query = str(metadata.get("query", ""))
    other = renamed(query)
    if other is not None:
        report.say(
            "autoscaler-metric-renamed",
            child(child(where, "metadata"), "query"),
            found=other[0],
            other=other[1],
        )
    if is_mean(query) and is_of_pods(query) and trigger.get("metricType") != "Value":
        report.say("autoscaler-mean-divided-again", where)
    validate_signal(query, child(child(where, "metadata"), "query"), target, report)
    return query


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
    report = CheckReport(RULES, texts=Path(__file__).parent)
    found = list(objects(read))
    scalers = [one for one in found if str(one[1].get("kind")) in VERSIONS]
    if not scalers:
        report.say("autoscaler-nothing-to-judge", "")
        return report.validation()
    own = {_key(item, item.get("kind"), item.get("metadata")): target_of(item) for _, item in found}
    targets = {**context.targets, **own}
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
            report_problems(schema_problems(item), CODES, report, path)
    return report.validation()


def _alone(
    key: TargetKey, place: str, kind: str, taken: dict[TargetKey, str], report: CheckReport
) -> None:
    if key in taken:
        report.say(
            "autoscaler-two-of-one-target",
            child(place, "scaleTargetRef"),
            target=key[2],
            key=key[0],
            taken=taken[key],
        )
    taken.setdefault(key, kind)


def _hpa(
    place: str, spec: Mapping[str, Any], target: AutoscalerTarget | None, report: CheckReport
) -> None:
    if integer(spec.get("minReplicas")) == 0:
        report.say("autoscaler-zero-without-keda", child(place, "minReplicas"), found=0, limit=1)
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
                report.say(
                    "autoscaler-resource-without-metric",
                    child(child(where, kind), "name"),
                    found=name,
                )
            return name
    for kind in ("pods", "object", "external"):
        part = as_mapping(value_at(metric, f"{kind}.metric"))
        if part is not None:
            return str(part.get("name"))
    return ""


def _target_key(item: Mapping[str, Any], spec: Mapping[str, Any]) -> TargetKey | None:
    named = mapping_at(spec, "scaleTargetRef")
    if not isinstance(named.get("name"), str):
        return None
    return _key(item, named.get("kind") or "Deployment", named)


def _key(item: Mapping[str, Any], kind: Any, named: Any) -> TargetKey:
    """Kind, namespace of an object, and a name."""
    space = value_at(item, "metadata.namespace") or "default"
    return str(kind), str(space), str(value_at(named, "name"))
