"""The rules of kind `autoscaler`: what scales a GPU workload by the wrong signal, or not at all."""

from gpufleet.contract.programs.validation import reject, rule_table, warn
from gpufleet.contract.schemas import schema_codes, schema_rules

_HPA = "kubernetes/api v0.36 autoscaling/v2/types.go"
_KEDA = "kedacore/keda v2.20.2 apis/keda/v1alpha1"
_PROMETHEUS = "kedacore/keda v2.20.2 pkg/scalers/prometheus_scaler.go"
_MEAN_SOURCE = f"{_PROMETHEUS}; Kubernetes, HPA algorithm details: averageValue"
_MIG = "NVIDIA/dcgm-exporter issues 216 and 430; NVIDIA/DCGM issue 80"
_SERVING = "GKE: autoscaling of inference by queue size and batch size, then GPU metrics"

CODES = schema_codes("autoscaler")

RULES = rule_table(
    reject(
        "autoscaler-nothing-to-judge",
        ("AS-1",),
        "No document is a HorizontalPodAutoscaler, ScaledObject or ScaledJob.",
        _KEDA,
    ),
    reject(
        "autoscaler-version-not-served",
        ("AS-1",),
        "The API version of an autoscaler is none that is served: the object is refused.",
        _HPA,
    ),
    reject(
        "autoscaler-utilisation-on-mig",
        ("AS-2",),
        "The target asks for MIG slices and is scaled by a utilisation that is 0 or missing on "
        "them: it never grows.",
        _MIG,
    ),
    warn(
        "autoscaler-utilisation-of-server",
        ("AS-3",),
        "GPU utilisation as the signal, and the target is a server that batches, or nothing says "
        "what it is: one running sequence fills it, and a second does not raise it.",
        _SERVING,
    ),
    warn(
        "autoscaler-cpu-of-gpu-workload",
        ("AS-3",),
        "A target that asks for GPUs is scaled by CPU or memory alone, which is what an autoscaler "
        "without metrics does.",
        _SERVING,
    ),
    reject(
        "autoscaler-resource-without-metric",
        ("AS-4",),
        "A Resource metric other than cpu and memory: metrics-server knows no other, so the "
        "autoscaler never acts.",
        _HPA,
    ),
    reject(
        "autoscaler-zero-without-keda",
        ("AS-5",),
        "minReplicas 0: the feature gate HPAScaleToZero is off, and the object is refused.",
        _HPA,
    ),
    reject(
        "autoscaler-zero-by-pods",
        ("AS-6",),
        "A ScaledObject that goes to 0 (the default) by signals that the pods themselves give: "
        "nothing would ever start the first.",
        _KEDA,
    ),
    warn(
        "autoscaler-silence-is-zero",
        ("AS-7",),
        "ignoreNullValues is true (the default): a dead exporter counts as no load, and takes the "
        "service away. A fallback does not help: an empty answer is no error.",
        _PROMETHEUS,
    ),
    warn(
        "autoscaler-metric-renamed",
        ("AS-7",),
        "A query asks for a metric of vLLM with `_` where vLLM writes `:`: unless a recording rule "
        "renames it, there is no such series, and nothing scales.",
        "vLLM, Production Metrics; volcano-sh/kthena#868",
    ),
    warn(
        "autoscaler-query-of-many",
        ("AS-8",),
        "A query without an aggregation over all labels: KEDA ends with an error when it gives "
        "more than one element.",
        _PROMETHEUS,
    ),
    warn(
        "autoscaler-mean-divided-again",
        ("AS-8",),
        "A mean over the pods as AverageValue (the default): the autoscaler divides it by the pods "
        "once more, so the more of them run, the lower it counts.",
        _MEAN_SOURCE,
    ),
    reject(
        "autoscaler-metadata-invalid",
        ("AS-9",),
        "A value of a trigger's metadata is no text: the API server refuses the object.",
        _KEDA,
    ),
    reject(
        "autoscaler-metadata-missing",
        ("AS-9",),
        "A Prometheus trigger lacks serverAddress, query or threshold.",
        _PROMETHEUS,
    ),
    reject(
        "autoscaler-metric-type",
        ("AS-9",),
        "metricType Utilization is of cpu and memory triggers: KEDA refuses it on others.",
        _KEDA,
    ),
    warn(
        "autoscaler-unbounded",
        ("AS-10",),
        "maxReplicaCount is not written: KEDA goes up to 100.",
        _KEDA,
    ),
    reject(
        "autoscaler-idle-not-below-minimum",
        ("AS-11",),
        "idleReplicaCount is not less than minReplicaCount: KEDA's webhook refuses it.",
        _KEDA,
    ),
    reject(
        "autoscaler-name-too-long",
        ("AS-12",),
        "KEDA's autoscaler is called keda-hpa-<name>, of at most 63 characters.",
        _KEDA,
    ),
    reject(
        "autoscaler-two-of-one-target",
        ("AS-13",),
        "Two autoscalers of one target undo each other's work; KEDA's webhook refuses the second.",
        _KEDA,
    ),
    *schema_rules(CODES, ("AS-1",), "autoscalers", f"{_KEDA}, {_HPA}"),
)
