"""Series that rules and dashboards may use, each with its source: reference for the queries.

A query of a series without an exporter is a rule that never fires.
"""

from gpufleet.render.dcgm_metrics import COUNTERS

KUBE_STATE_METRICS = frozenset(
    {
        "kube_deployment_spec_replicas",
        "kube_node_labels",
        "kube_node_spec_taint",
        "kube_node_spec_unschedulable",
        "kube_node_status_allocatable",
        "kube_node_status_condition",
        "kube_pod_container_resource_requests",
        "kube_pod_status_phase",
        "kube_statefulset_replicas",
    }
)
"""kubernetes/kube-state-metrics v2, stable series. `kube_node_labels` carries only labels that
`--metric-labels-allowlist` names."""

KUEUE = frozenset(
    {
        "kueue_admission_wait_time_seconds_bucket",
        "kueue_admitted_workloads_total",
        "kueue_cluster_queue_nominal_quota",
        "kueue_cluster_queue_resource_reservation",
        "kueue_cluster_queue_resource_usage",
        "kueue_cluster_queue_status",
        "kueue_evicted_workloads_total",
        "kueue_pending_workloads",
        "kueue_preempted_workloads_total",
    }
)
"""kubernetes-sigs/kueue v0.19.2 `pkg/metrics/metrics.go`; those of resources only with
`metrics.enableClusterQueueResources`, which our configuration has."""

VLLM = frozenset(
    {
        "vllm:kv_cache_usage_perc",
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        "vllm:time_to_first_token_seconds_bucket",
    }
)
"""vLLM's server, engine V1 (docs.vllm.ai, page Production Metrics, read 2026-11-21). The older name
`vllm:gpu_cache_usage_perc` is gone."""

NVSENTINEL = frozenset({"fault_quarantine_breaker_state"})
"""NVIDIA documentation, NVSentinel v1.31.0, metrics-reference (read 2026-11-29)."""

LEASES = frozenset({"gpufleet_lease_until"})
"""Made by kube-state-metrics from the configuration of `render/idle.py`."""

PROMETHEUS = frozenset({"up"})
"""Made by Prometheus for each target."""

DCGM = frozenset(counter.field for counter in COUNTERS if counter.kind != "label")

KNOWN = DCGM | KUBE_STATE_METRICS | KUEUE | VLLM | NVSENTINEL | LEASES | PROMETHEUS
"""Everything exported; recorded series come on top (`recording_rules`)."""

NODE_LABELS = ("gpufleet.dev/pool", "gpufleet.dev/team", "nvidia.com/mig.config.state")
"""Node labels that kube-state-metrics must export, by its flag
`--metric-labels-allowlist=nodes=[...]`."""
