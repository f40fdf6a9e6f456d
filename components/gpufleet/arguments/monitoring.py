"""Inputs of components: what restates `gpufleet.spec.monitoring`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import MonitoringBackendWord


class ServerScrapeArgs(TypedDict):
    """Pods with their own metrics: model servers, by which their replicas scale."""

    name: str
    """Name of the scrape."""
    namespace: str
    """Namespace of the pods."""
    labels: dict[str, str]
    """Labels of the pods; at least one."""
    port: NotRequired[str]
    """Name of the container's port. Default http."""
    path: NotRequired[str]
    """Default `/metrics`, as in vLLM."""


class AlertsArgs(TypedDict):
    """Thresholds of the alerts. docs/monitoring.md lists their meanings and remedies."""

    enabled: NotRequired[bool]
    """Default true."""
    without: NotRequired[list[str]]
    """Alerts to leave out, by name. Default: none."""
    idle_percent: NotRequired[float]
    """A GPU or slice that a pod holds is idle while the activity of its engine stays at or below
    this, in percent, more than 0, at most 100. Default 5."""
    idle_minutes: NotRequired[int]
    """Duration, 10 to 10080 minutes. Default 90."""
    unallocated_percent: NotRequired[float]
    """Share of a resource that no pod holds, in percent, before it is waste. Default 30."""
    unallocated_minutes: NotRequired[int]
    """Duration, 10 to 10080 minutes. Default 120."""
    pending_minutes: NotRequired[int]
    """Time that a pod with GPU requests may wait for a node, 1 to 1440 minutes. Default 15: the
    start time of a new node."""
    starved_minutes: NotRequired[int]
    """Time for which a queue may have jobs and admit none, 1 to 10080 minutes. Default 60."""


class DashboardsArgs(TypedDict):
    """Grafana dashboards as ConfigMaps."""

    enabled: NotRequired[bool]
    """Default true."""
    label: NotRequired[str]
    """Label by which Grafana's sidecar finds them. Default grafana_dashboard."""
    label_value: NotRequired[str]
    """Value of the label. Default 1, as in the charts of Grafana and kube-prometheus-stack."""


class MonitoringArgs(TypedDict):
    """GPU metrics, alerts and dashboards."""

    backend: NotRequired[MonitoringBackendWord]
    """One of `prometheus`, `victoriaMetrics`, `none`. Default prometheus."""
    namespace: NotRequired[str]
    """Namespace of rules, dashboards and monitors; it is created. Default gpu-monitoring."""
    labels: NotRequired[dict[str, str]]
    """Labels of monitors and rules, by which a Prometheus selects them: `release:
    kube-prometheus-stack`. Default: none."""
    interval_seconds: NotRequired[int]
    """How often the exporter reads and Prometheus scrapes, 5 to 300 s. Default 30."""
    scrape_timeout_seconds: NotRequired[int]
    """Maximum duration of a scrape, at most the interval, 1 to 60 s. Default 10."""
    honor_labels: NotRequired[bool]
    """Whether `pod`, `namespace` and `container` of a series are those of the workload. Default
    false, as in the charts: the labels of the workload are then called `exported_pod` and so on.
    All queries of gpufleet follow this setting."""
    profiling: NotRequired[bool]
    """Whether engine, tensor and memory activity are measured (`DCGM_FI_PROF_*`). Needs Volta or
    newer; it is the only measure of use of MIG slices. Default true."""
    pod_labels: NotRequired[list[str]]
    """Labels of pods on the series, as regular expressions: `^app$`. Default: none."""
    query_url: NotRequired[str]
    """Address of queries, for scaling: `http://prometheus.monitoring.svc:9090`. Default: none;
    scaling by a query then needs its own address."""
    servers: NotRequired[list[ServerScrapeArgs]]
    """Model servers to scrape in addition, at most 200. Default: none."""
    alerts: NotRequired[AlertsArgs]
    """Default: all alerts, at the thresholds named there."""
    dashboards: NotRequired[DashboardsArgs]
    """Default: fleet, team, MIG slices and cost."""
