"""Scrape targets as objects of a backend: ServiceMonitor or VMServiceScrape.

Only one kind is made: the operator of VictoriaMetrics converts those of Prometheus by default,
and both together would scrape everything twice.
"""

from dataclasses import dataclass, field
from typing import Any

from gpufleet.contract.owners import NO_OPERANDS
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.monitoring import Monitoring, MonitoringBackend, ServerScrape

STANDALONE_PORT = "metrics"
OPERATOR_PORT = "gpu-metrics"
EXPORTER = "dcgm-exporter"
"""Release of the exporter's own chart, on nodes without the GPU Operator's exporter."""


@dataclass(frozen=True, slots=True)
class ScrapeTarget:
    """A Service that exports metrics."""

    name: str
    namespace: str
    """Namespace of the Service."""
    selector: dict[str, str]
    """Labels of the Service."""
    port: str
    """Name of its port."""
    https: bool = False
    """Whether it serves TLS with its own certificate and requires a token."""
    job_label: str = "app.kubernetes.io/name"
    """Label of the Service whose value becomes `job`."""
    honor_labels: bool = field(default=False)


def runs_operator_exporter(fleet: Fleet) -> bool:
    """Whether the GPU Operator installs the exporter."""
    return fleet.addons.gpu_operator.enabled and fleet.addons.gpu_operator.dcgm_exporter


def exporter_pools(fleet: Fleet) -> list[Pool]:
    """Pools whose nodes get the exporter from its own chart: all with NVIDIA GPUs, or next to the
    operator the pools without its operands."""
    watched = [pool for pool in fleet.pools if pool.gpu.vendor == "nvidia"]
    if not runs_operator_exporter(fleet):
        return watched
    return [pool for pool in watched if NO_OPERANDS.items() <= pool.labels.items()]


def installs_exporter(fleet: Fleet) -> bool:
    """Whether the exporter's own chart is installed."""
    return not runs_operator_exporter(fleet) or bool(exporter_pools(fleet))


def kueue_monitors_itself(monitoring: Monitoring) -> bool:
    """Whether Kueue's own chart makes its ServiceMonitor. It takes no labels, so a Prometheus that
    selects by some would not see it (kueue 0.19.2 `templates/prometheus/monitor.yaml`)."""
    return monitoring.backend is MonitoringBackend.PROMETHEUS and not monitoring.labels


def targets(fleet: Fleet, monitoring: Monitoring) -> list[ScrapeTarget]:
    """Scrape targets of a fleet: GPUs, and Kueue unless its chart makes the ServiceMonitor."""
    honor = monitoring.honor_labels
    found: list[ScrapeTarget] = []
    if runs_operator_exporter(fleet):
        # NVIDIA/gpu-operator v26.7.0 `assets/state-dcgm-exporter`: Service, port and label.
        found.append(
            ScrapeTarget(
                "nvidia-dcgm-exporter",
                fleet.addons.gpu_operator.namespace,
                {"app": "nvidia-dcgm-exporter"},
                OPERATOR_PORT,
                job_label="app",
                honor_labels=honor,
            )
        )
    if installs_exporter(fleet):
        found.append(
            ScrapeTarget(
                EXPORTER,
                monitoring.namespace,
                {"app.kubernetes.io/name": EXPORTER},
                STANDALONE_PORT,
                honor_labels=honor,
            )
        )
    kueue = fleet.spec.addons.kueue.ownership is Ownership.MANAGED
    if fleet.spec.queues is not None and kueue and not kueue_monitors_itself(monitoring):
        found.append(
            ScrapeTarget(
                "kueue",
                "kueue-system",
                {
                    "app.kubernetes.io/name": "kueue",
                    "app.kubernetes.io/component": "metrics-service",
                },
                "https",
                https=True,
            )
        )
    return found


def scrape_objects(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """The objects of the backend, for Services first, then for pods; empty for backend `none`."""
    kinds = {
        MonitoringBackend.PROMETHEUS: ("monitoring.coreos.com/v1", "ServiceMonitor", "PodMonitor"),
        MonitoringBackend.VICTORIA_METRICS: (
            "operator.victoriametrics.com/v1beta1",
            "VMServiceScrape",
            "VMPodScrape",
        ),
    }
    if monitoring.backend not in kinds:
        return []
    api_version, of_services, of_pods = kinds[monitoring.backend]
    place, labels = monitoring.namespace, monitoring.labels
    services = [
        manifest(api_version, of_services, f"gpufleet-{one.name}", place, labels, spec=spec)
        for one in targets(fleet, monitoring)
        for spec in [_of_service(one, monitoring)]
    ]
    pods = [
        manifest(api_version, of_pods, f"gpufleet-server-{one.name}", place, labels, spec=spec)
        for one in monitoring.servers
        for spec in [_of_server(one, monitoring)]
    ]
    return [*services, *pods]


def _of_service(target: ScrapeTarget, monitoring: Monitoring) -> dict[str, Any]:
    return {
        "jobLabel": target.job_label,
        "selector": {"matchLabels": dict(target.selector)},
        "namespaceSelector": {"matchNames": [target.namespace]},
        "endpoints": [_endpoint(target, monitoring)],
    }


def _of_server(server: ServerScrape, monitoring: Monitoring) -> dict[str, Any]:
    return {
        "selector": {"matchLabels": dict(server.labels)},
        "namespaceSelector": {"matchNames": [server.namespace]},
        "podMetricsEndpoints": [{"port": server.port, "path": server.path, **_pace(monitoring)}],
    }


def _pace(monitoring: Monitoring) -> dict[str, str]:
    return {
        "interval": f"{monitoring.interval_seconds}s",
        "scrapeTimeout": f"{monitoring.scrape_timeout_seconds}s",
    }


def _endpoint(target: ScrapeTarget, monitoring: Monitoring) -> dict[str, Any]:
    endpoint: dict[str, Any] = {
        "port": target.port,
        "path": "/metrics",
        **_pace(monitoring),
        "honorLabels": target.honor_labels,
    }
    if target.https:
        endpoint |= {
            "scheme": "https",
            "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "tlsConfig": {"insecureSkipVerify": True},
        }
    return endpoint
