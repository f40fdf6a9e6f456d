"""Monitoring: objects for metrics, alerts and dashboards. Their content follows from the pools."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from gpufleet.spec.base import DnsLabel, SpecModel
from gpufleet.spec.pool import LabelKey, LabelValue


class MonitoringBackend(StrEnum):
    """Kind of the objects for scraping and alerts."""

    PROMETHEUS = "prometheus"
    """ServiceMonitor and PrometheusRule of the Prometheus operator."""
    VICTORIA_METRICS = "victoriaMetrics"
    """VMServiceScrape and VMRule."""
    NONE = "none"
    """No objects; the exporter still runs."""


AlertName = Annotated[str, StringConstraints(pattern=r"^Gpu[A-Za-z]+$")]
"""Name of an alert: `GpuIdle`."""

Percent = Annotated[float, Field(gt=0, le=100)]


class Alerts(SpecModel):
    """Thresholds of the alerts. docs/monitoring.md lists their meanings and remedies."""

    enabled: bool = True
    """Default true."""
    without: tuple[AlertName, ...] = ()
    """Alerts to leave out, by name. Default: none."""
    idle_percent: Percent = 5.0
    """A GPU or slice that a pod holds is idle while the activity of its engine stays at or below
    this, in percent, more than 0, at most 100. Default 5."""
    idle_minutes: int = Field(default=90, ge=10, le=10_080)
    """Duration, 10 to 10080 minutes. Default 90."""
    unallocated_percent: Percent = 30.0
    """Share of a resource that no pod holds, in percent, before it is waste. Default 30."""
    unallocated_minutes: int = Field(default=120, ge=10, le=10_080)
    """Duration, 10 to 10080 minutes. Default 120."""
    pending_minutes: int = Field(default=15, ge=1, le=1440)
    """Time that a pod with GPU requests may wait for a node, 1 to 1440 minutes. Default 15: the
    start time of a new node."""
    starved_minutes: int = Field(default=60, ge=1, le=10_080)
    """Time for which a queue may have jobs and admit none, 1 to 10080 minutes. Default 60."""


class Dashboards(SpecModel):
    """Grafana dashboards as ConfigMaps."""

    enabled: bool = True
    """Default true."""
    label: LabelKey = "grafana_dashboard"
    """Label by which Grafana's sidecar finds them. Default grafana_dashboard."""
    label_value: LabelValue = "1"
    """Value of the label. Default 1, as in the charts of Grafana and kube-prometheus-stack."""


class ServerScrape(SpecModel):
    """Pods with their own metrics: model servers, by which their replicas scale."""

    name: DnsLabel
    """Name of the scrape."""
    namespace: DnsLabel
    """Namespace of the pods."""
    labels: dict[LabelKey, LabelValue] = Field(min_length=1)
    """Labels of the pods; at least one."""
    port: DnsLabel = "http"
    """Name of the container's port. Default http."""
    path: str = Field(default="/metrics", pattern=r"^/\S*$")
    """Default `/metrics`, as in vLLM."""


class Monitoring(SpecModel):
    """GPU metrics, alerts and dashboards."""

    backend: MonitoringBackend = MonitoringBackend.PROMETHEUS
    """Default prometheus."""
    namespace: DnsLabel = "gpu-monitoring"
    """Namespace of rules, dashboards and monitors; it is created. Default gpu-monitoring."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict[str, str])
    """Labels of monitors and rules, by which a Prometheus selects them:
    `release: kube-prometheus-stack`. Default: none."""
    interval_seconds: int = Field(default=30, ge=5, le=300)
    """How often the exporter reads and Prometheus scrapes, 5 to 300 s. Default 30."""
    scrape_timeout_seconds: int = Field(default=10, ge=1, le=60)
    """Maximum duration of a scrape, at most the interval, 1 to 60 s. Default 10."""
    honor_labels: bool = False
    """Whether `pod`, `namespace` and `container` of a series are those of the workload. Default
    false, as in the charts: the labels of the workload are then called `exported_pod` and so on.
    All queries of gpufleet follow this setting."""
    profiling: bool = True
    """Whether engine, tensor and memory activity are measured (`DCGM_FI_PROF_*`). Needs Volta or
    newer; it is the only measure of use of MIG slices. Default true."""
    pod_labels: tuple[str, ...] = ()
    """Labels of pods on the series, as regular expressions: `^app$`. Default: none."""
    query_url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+(:[0-9]+)?(/\S*)?$")
    """Address of queries, for scaling: `http://prometheus.monitoring.svc:9090`. Default: none;
    scaling by a query then needs its own address."""
    servers: Annotated[tuple[ServerScrape, ...], Field(max_length=200)] = ()
    """Model servers to scrape in addition, at most 200. Default: none."""
    alerts: Alerts = Field(default_factory=Alerts)
    """Default: all alerts, at the thresholds named there."""
    dashboards: Dashboards = Field(default_factory=Dashboards)
    """Default: fleet, team, MIG slices and cost."""
