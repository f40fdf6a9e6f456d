"""Scrape targets as objects of a backend: ServiceMonitor or VMServiceScrape.

Only one kind is made: the operator of VictoriaMetrics converts those of Prometheus by default,
and both together would scrape everything twice.
"""

from typing import Any

from gpufleet.contract.owners import NO_OPERANDS
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.render.data_files import data_part
from gpufleet.spec.base import Ownership
from gpufleet.spec.monitoring import Monitoring, MonitoringBackend

BACKENDS = {
    MonitoringBackend.PROMETHEUS: (
        *("monitoring.coreos.com/v1", "PrometheusRule", "ServiceMonitor", "PodMonitor"),
    ),
    MonitoringBackend.VICTORIA_METRICS: (
        *("operator.victoriametrics.com/v1beta1", "VMRule", "VMServiceScrape", "VMPodScrape"),
    ),
}
"""Backend -> version of its API, and its kinds of rules and of scrapes of services and pods."""
EXPORTER = "dcgm-exporter"
"""Release of the exporter's own chart, on nodes without the GPU Operator's exporter."""


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


def scrape_objects(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """The objects of the backend (`objects/scrapes.yaml`), for Services first, then for pods; empty
    for backend `none`. Kueue has none if its chart makes the ServiceMonitor."""
    if monitoring.backend not in BACKENDS:
        return []
    api_version, _, of_services, of_pods = BACKENDS[monitoring.backend]
    place, labels = monitoring.namespace, monitoring.labels
    pace = {
        "interval": f"{monitoring.interval_seconds}s",
        "timeout": f"{monitoring.scrape_timeout_seconds}s",
    }
    kueue = fleet.spec.addons.kueue.ownership is Ownership.MANAGED
    services = data_part(
        "scrapes",
        "services",
        operator=fleet.addons.gpu_operator.namespace if runs_operator_exporter(fleet) else None,
        exporter=place if installs_exporter(fleet) else None,
        kueue=fleet.spec.queues is not None and kueue and not kueue_monitors_itself(monitoring),
        honor=monitoring.honor_labels,
        **pace,
    )
    found = [(of_services, name, spec) for name, spec in services.items()]
    for one in monitoring.servers:
        spec = data_part("scrapes", "server", **dict(one), **pace)
        found.append((of_pods, f"gpufleet-server-{one.name}", spec))
    return [
        manifest(api_version, kind, name, place, labels, spec=spec) for kind, name, spec in found
    ]
