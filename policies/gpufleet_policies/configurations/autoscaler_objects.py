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
from gpufleet.contract.schemas import SCHEMA_RULES, object_problems, report_problems, schema_codes
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.objects import objects

HOST_SIGNALS = ("cpu", "memory")
"""Metrics of metrics-server."""


def validate_signal(
    text: str, where: str, target: AutoscalerTarget | None, report: CheckReport
) -> None:
    """A metric's name or a query, against what the target is."""
    if target is not None and target.sliced and is_missing_on_mig(text):
        report.add(
            "autoscaler-utilisation-on-mig",
            where,
            "GPU utilisation is 0 or missing on MIG slices, and the target runs on slices",
            "scale by a signal of the server, or by DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
            found=shown(text),
        )
    elif is_utilisation(text) and (target is None or target.batches):
        what = "the target is a server that batches" if target is not None else "if it is a server"
        report.add(
            "autoscaler-utilisation-of-server",
            where,
            f"GPU utilisation shows activity, not load ({what}): it is high with the "
            "first request and does not grow with the second",
            "scale by vllm:num_requests_running or the server's own queue",
            found=shown(text),
        )


def validate_cpu(where: str, names: list[str], report: CheckReport, *, never: bool) -> None:
    """A target with GPUs that nothing but its host's load scales.

    `never`: not even that does, because the use of CPU is a part of the request
    (pkg/controller/podautoscaler/replica_calculator.go of Kubernetes)."""
    found = " and ".join(sorted(set(names))) or "cpu, the default"
    why = "a server that waits for its GPU needs no CPU"
    if never:
        why = "a container without a CPU request has no use of it, and the autoscaler never scales"
    report.add(
        "autoscaler-cpu-of-gpu-workload",
        where,
        f"the target requests GPUs and is scaled by {found}: {why}",
        "scale by requests running or waiting, or by the length of its queue",
        found=sorted(set(names)),
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
    if "maxReplicaCount" not in spec:
        report.add(
            "autoscaler-unbounded",
            place,
            "without maxReplicaCount KEDA scales up to 100 replicas",
            "write the maximum that you would pay for",
        )
    if item.get("kind") == "ScaledJob":
        return
    _sizes(place, spec, report)
    smallest = (spec.get("minReplicaCount", 0), spec.get("idleReplicaCount"))
    scaled = str(mapping_at(spec, "scaleTargetRef").get("name", ""))
    of_pods = [is_of_pods(text) or is_of_target(text, scaled) for text in texts]
    to_zero = 0 in [integer(one) for one in smallest]
    if to_zero and texts and all(of_pods):
        report.add(
            "autoscaler-zero-by-pods",
            child(place, "triggers"),
            "every signal comes from the pods, and 0 replicas give no signal",
            "write `minReplicaCount: 1` and no `idleReplicaCount`, or add the length of a queue or "
            "gateway in front",
        )
    silent = [
        index
        for index, one in enumerate(triggers)
        if one.get("type") == "prometheus"
        and str(mapping_at(one, "metadata").get("ignoreNullValues", "true")).lower() != "false"
        and of_pods[index]
    ]
    # Without any of them an empty answer is right, if another trigger starts the pods.
    if silent and (all(of_pods) or not to_zero or as_mapping(spec.get("fallback")) is None):
        report.add(
            "autoscaler-silence-is-zero",
            child(child(child(place, "triggers"), silent[0]), "metadata"),
            "while the exporter is silent the load counts as 0"
            + (f", by {len(silent)} triggers" if len(silent) > 1 else "")
            + (
                "; its `fallback` is for errors, and an empty answer is not an error"
                if as_mapping(spec.get("fallback"))
                else ""
            ),
            'write `ignoreNullValues: "false"`, and a `fallback`',
        )
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
        report.add(
            "autoscaler-metadata-missing",
            child(where, "metadata"),
            f"a Prometheus trigger needs {', '.join(missing)}",
            f"add {missing[0]}",
            missing=missing,
        )
    query = str(metadata.get("query", ""))
    other = renamed(query)
    if other is not None:
        report.add(
            "autoscaler-metric-renamed",
            child(child(where, "metadata"), "query"),
            f"vLLM exports {other[1]}, and the query requests {other[0]}: without a recording rule "
            "of that name the answer is empty",
            f"write {other[1]}",
            found=other[0],
        )
    if is_mean(query) and is_of_pods(query) and trigger.get("metricType") != "Value":
        report.add(
            "autoscaler-mean-divided-again",
            where,
            "the query gives the mean of the pods, and the autoscaler divides it by their number "
            "once more (metricType AverageValue, the default)",
            "write `metricType: Value`, or the sum",
        )
    validate_signal(query, child(child(where, "metadata"), "query"), target, report)
    return query


def _sizes(place: str, spec: Mapping[str, Any], report: CheckReport) -> None:
    idle, least = integer(spec.get("idleReplicaCount")), integer(spec.get("minReplicaCount", 0))
    if idle is not None and least is not None and idle >= least:
        report.add(
            "autoscaler-idle-not-below-minimum",
            child(place, "idleReplicaCount"),
            f"idle {idle} is not less than minReplicaCount {least}",
            "write 0, with a minReplicaCount of 1 or more",
            found=idle,
            limit=least - 1,
        )


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
