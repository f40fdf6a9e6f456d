"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.monitoring`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.monitoring import ServerScrapeArgs
from gpufleet.arguments.words import MonitoringBackendWord


class AlertsDict(TypedDict):
    """Thresholds of the alerts. docs/monitoring.md lists their meanings and remedies."""

    enabled: NotRequired[bool]
    """Default true."""
    without: NotRequired[Sequence[str]]
    """Alerts to leave out, by name. Default: none."""
    idlePercent: NotRequired[float]
    """A GPU or slice that a pod holds is idle while the activity of its engine stays at or below
    this, in percent, more than 0, at most 100. Default 5."""
    idleMinutes: NotRequired[int]
    """Duration, 10 to 10080 minutes. Default 90."""
    unallocatedPercent: NotRequired[float]
    """Share of a resource that no pod holds, in percent, before it is waste. Default 30."""
    unallocatedMinutes: NotRequired[int]
    """Duration, 10 to 10080 minutes. Default 120."""
    pendingMinutes: NotRequired[int]
    """Time that a pod with GPU requests may wait for a node, 1 to 1440 minutes. Default 15: the
    start time of a new node."""
    starvedMinutes: NotRequired[int]
    """Time for which a queue may have jobs and admit none, 1 to 10080 minutes. Default 60."""


class DashboardsDict(TypedDict):
    """Grafana dashboards as ConfigMaps."""

    enabled: NotRequired[bool]
    """Default true."""
    label: NotRequired[str]
    """Label by which Grafana's sidecar finds them. Default grafana_dashboard."""
    labelValue: NotRequired[str]
    """Value of the label. Default 1, as in the charts of Grafana and kube-prometheus-stack."""


class MonitoringDict(TypedDict):
    """GPU metrics, alerts and dashboards."""

    backend: NotRequired[MonitoringBackendWord]
    """One of `prometheus`, `victoriaMetrics`, `none`. Default prometheus."""
    namespace: NotRequired[str]
    """Namespace of rules, dashboards and monitors; it is created. Default gpu-monitoring."""
    labels: NotRequired[Mapping[str, str]]
    """Labels of monitors and rules, by which a Prometheus selects them: `release:
    kube-prometheus-stack`. Default: none."""
    intervalSeconds: NotRequired[int]
    """How often the exporter reads and Prometheus scrapes, 5 to 300 s. Default 30."""
    scrapeTimeoutSeconds: NotRequired[int]
    """Maximum duration of a scrape, at most the interval, 1 to 60 s. Default 10."""
    honorLabels: NotRequired[bool]
    """Whether `pod`, `namespace` and `container` of a series are those of the workload. Default
    false, as in the charts: the labels of the workload are then called `exported_pod` and so on.
    All queries of gpufleet follow this setting."""
    profiling: NotRequired[bool]
    """Whether engine, tensor and memory activity are measured (`DCGM_FI_PROF_*`). Needs Volta or
    newer; it is the only measure of use of MIG slices. Default true."""
    podLabels: NotRequired[Sequence[str]]
    """Labels of pods on the series, as regular expressions: `^app$`. Default: none."""
    queryUrl: NotRequired[str]
    """Address of queries, for scaling: `http://prometheus.monitoring.svc:9090`. Default: none;
    scaling by a query then needs its own address."""
    servers: NotRequired[Sequence[ServerScrapeArgs]]
    """Model servers to scrape in addition, at most 200. Default: none."""
    alerts: NotRequired[AlertsDict]
    """Default: all alerts, at the thresholds named there."""
    dashboards: NotRequired[DashboardsDict]
    """Default: fleet, team, MIG slices and cost."""
