"""KEDA's objects: triggers, and the sizes between which they act."""

from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.scaling import AutoscalerTarget
from gpufleet.contract.programs.autoscaler_signals import (
    is_mean,
    is_of_pods,
    is_of_target,
    renamed,
)
from gpufleet.contract.programs.go_json import integer
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child, mapping_at
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.configurations.autoscaler_wrong_signal import (
    HOST_SIGNALS,
    validate_cpu,
    validate_signal,
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
