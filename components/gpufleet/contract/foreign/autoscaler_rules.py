"""The rules of kind `autoscaler`: what scales a GPU workload by the wrong signal, or not at all."""

from gpufleet.contract.foreign.validation import CheckRule, Verdict, rule_table
from gpufleet.contract.schemas import schema_codes, schema_rules

_HPA = "kubernetes/api v0.36 autoscaling/v2/types.go"
_KEDA = "kedacore/keda v2.20.2 apis/keda/v1alpha1"
_PROMETHEUS = "kedacore/keda v2.20.2 pkg/scalers/prometheus_scaler.go"
_MEAN_SOURCE = f"{_PROMETHEUS}; Kubernetes, HPA algorithm details: averageValue"
_MIG = "NVIDIA/dcgm-exporter issues 216 and 430; NVIDIA/DCGM issue 80"
_SERVING = "GKE: autoscaling of inference by queue size and batch size, then GPU metrics"


def _rule(code: str, number: int, verdict: Verdict, sentence: str, source: str) -> CheckRule:
    return CheckRule(code, (f"AS-{number}",), verdict, sentence, source)


CODES = schema_codes("autoscaler")

RULES = rule_table(
    _rule(
        "autoscaler-nothing-to-judge",
        1,
        Verdict.REJECT,
        "No document is a HorizontalPodAutoscaler, ScaledObject or ScaledJob.",
        _KEDA,
    ),
    _rule(
        "autoscaler-version-not-served",
        1,
        Verdict.REJECT,
        "The API version of an autoscaler is none that is served: the object is refused.",
        _HPA,
    ),
    _rule(
        "autoscaler-utilisation-on-mig",
        2,
        Verdict.REJECT,
        "The target asks for MIG slices and is scaled by a utilisation that is 0 or missing on "
        "them: it never grows.",
        _MIG,
    ),
    _rule(
        "autoscaler-utilisation-of-server",
        3,
        Verdict.WARN,
        "GPU utilisation as the signal, and the target is a server that batches, or nothing says "
        "what it is: one running sequence fills it, and a second does not raise it.",
        _SERVING,
    ),
    _rule(
        "autoscaler-cpu-of-gpu-workload",
        3,
        Verdict.WARN,
        "A target that asks for GPUs is scaled by CPU or memory alone, which is what an autoscaler "
        "without metrics does.",
        _SERVING,
    ),
    _rule(
        "autoscaler-resource-without-metric",
        4,
        Verdict.REJECT,
        "A Resource metric other than cpu and memory: metrics-server knows no other, so the "
        "autoscaler never acts.",
        _HPA,
    ),
    _rule(
        "autoscaler-zero-without-keda",
        5,
        Verdict.REJECT,
        "minReplicas 0: the feature gate HPAScaleToZero is off, and the object is refused.",
        _HPA,
    ),
    _rule(
        "autoscaler-zero-by-pods",
        6,
        Verdict.REJECT,
        "A ScaledObject that goes to 0 (the default) by signals that the pods themselves give: "
        "nothing would ever start the first.",
        _KEDA,
    ),
    _rule(
        "autoscaler-silence-is-zero",
        7,
        Verdict.WARN,
        "ignoreNullValues is true (the default): a dead exporter counts as no load, and takes the "
        "service away. A fallback does not help: an empty answer is no error.",
        _PROMETHEUS,
    ),
    _rule(
        "autoscaler-query-of-many",
        8,
        Verdict.WARN,
        "A query without an aggregation over all labels: KEDA ends with an error when it gives "
        "more than one element.",
        _PROMETHEUS,
    ),
    _rule(
        "autoscaler-mean-divided-again",
        8,
        Verdict.WARN,
        "A mean over the pods as AverageValue (the default): the autoscaler divides it by the pods "
        "once more, so the more of them run, the lower it counts.",
        _MEAN_SOURCE,
    ),
    _rule(
        "autoscaler-metadata-invalid",
        9,
        Verdict.REJECT,
        "A value of a trigger's metadata is no text: the API server refuses the object.",
        _KEDA,
    ),
    _rule(
        "autoscaler-metadata-missing",
        9,
        Verdict.REJECT,
        "A Prometheus trigger lacks serverAddress, query or threshold.",
        _PROMETHEUS,
    ),
    _rule(
        "autoscaler-metric-type",
        9,
        Verdict.REJECT,
        "metricType Utilization is of cpu and memory triggers: KEDA refuses it on others.",
        _KEDA,
    ),
    _rule(
        "autoscaler-unbounded",
        10,
        Verdict.WARN,
        "maxReplicaCount is not written: KEDA goes up to 100.",
        _KEDA,
    ),
    _rule(
        "autoscaler-idle-not-below-minimum",
        11,
        Verdict.REJECT,
        "idleReplicaCount is not less than minReplicaCount: KEDA's webhook refuses it.",
        _KEDA,
    ),
    _rule(
        "autoscaler-name-too-long",
        12,
        Verdict.REJECT,
        "KEDA's autoscaler is called keda-hpa-<name>, of at most 63 characters.",
        _KEDA,
    ),
    _rule(
        "autoscaler-two-of-one-target",
        13,
        Verdict.REJECT,
        "Two autoscalers of one target undo each other's work; KEDA's webhook refuses the second.",
        _KEDA,
    ),
    *schema_rules(CODES, ("AS-1",), "autoscalers", f"{_KEDA}, {_HPA}"),
)
