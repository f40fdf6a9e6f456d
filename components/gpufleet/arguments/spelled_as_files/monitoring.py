"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.monitoring`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.monitoring import ServerScrapeArgs
from gpufleet.arguments.words import MonitoringBackendWord


class AlertsDict(TypedDict):
    """When the alerts fire. The list with meanings and remedies is docs/monitoring.md."""

    enabled: NotRequired[bool]
    """Default true."""
    without: NotRequired[Sequence[str]]
    """Alerts to leave out, by name. Default: none."""
    idlePercent: NotRequired[float]
    """A GPU or slice that a pod holds is idle while its engine was never busier than this, in
    percent, more than 0, at most 100. Default 5."""
    idleMinutes: NotRequired[int]
    """How long, 10 to 10080 minutes. Default 90."""
    unallocatedPercent: NotRequired[float]
    """Part of a resource that no pod holds, in percent, before it is waste. Default 30."""
    unallocatedMinutes: NotRequired[int]
    """How long, 10 to 10080 minutes. Default 120."""
    pendingMinutes: NotRequired[int]
    """How long a pod that asks for GPUs may wait for a node, 1 to 1440 minutes. Default 15: what
    a new node takes."""
    starvedMinutes: NotRequired[int]
    """How long a queue may have jobs and admit none, 1 to 10080 minutes. Default 60."""


class DashboardsDict(TypedDict):
    """Grafana dashboards as ConfigMaps."""

    enabled: NotRequired[bool]
    """Default true."""
    label: NotRequired[str]
    """Label by which Grafana's sidecar finds them. Default grafana_dashboard."""
    labelValue: NotRequired[str]
    """Value of the label. Default 1, as the charts of Grafana and kube-prometheus-stack have
    it."""
    openshiftConsole: NotRequired[bool]
    """Whether they are also put where OpenShift's console looks. Default: on OpenShift."""


class MonitoringDict(TypedDict):
    """GPU metrics, alerts and dashboards."""

    backend: NotRequired[MonitoringBackendWord]
    """One of `prometheus`, `victoriaMetrics`, `none`. Default prometheus."""
    namespace: NotRequired[str]
    """Namespace of rules, dashboards and monitors; it is made. Default gpu-monitoring."""
    labels: NotRequired[Mapping[str, str]]
    """Labels of monitors and rules, by which a Prometheus selects them: `release:
    kube-prometheus-stack`. Default: none."""
    intervalSeconds: NotRequired[int]
    """How often the exporter reads and Prometheus scrapes, 5 to 300 s. Default 30."""
    scrapeTimeoutSeconds: NotRequired[int]
    """Longest scrape, at most the interval, 1 to 60 s. Default 10."""
    honorLabels: NotRequired[bool]
    """Whether `pod`, `namespace` and `container` of a series are the workload's. Default false,
    as the charts have it: the workload's are then called `exported_pod` and so on. Every query of
    ours follows this setting."""
    profiling: NotRequired[bool]
    """Whether engine, tensor and memory activity are measured (`DCGM_FI_PROF_*`). Needs Volta or
    newer; MIG slices have no other measure of use. Default true."""
    podLabels: NotRequired[Sequence[str]]
    """Labels of pods that series carry, as regular expressions: `^app$`. Default: none."""
    queryUrl: NotRequired[str]
    """Where queries are answered, for scaling: `http://prometheus.monitoring.svc:9090`. Default:
    none; what scales by a query then needs an address of its own."""
    servers: NotRequired[Sequence[ServerScrapeArgs]]
    """Model servers to scrape too, at most 200. Default: none."""
    alerts: NotRequired[AlertsDict]
    """Default: all alerts, at the thresholds named there."""
    dashboards: NotRequired[DashboardsDict]
    """Default: fleet, team, MIG slices and cost."""
