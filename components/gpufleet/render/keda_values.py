"""Values of KEDA's chart (2.20.2)."""

from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import Fleet
from gpufleet.render.data_files import data_part
from gpufleet.spec.base import Ownership
from gpufleet.spec.monitoring import MonitoringBackend

CHART = "keda"


def keda_values(*, watched: bool) -> dict[str, Any]:
    """The values: a webhook that refuses objects while it is unavailable, instead of admitting them
    unchecked, and ServiceMonitors of its own metrics if `watched`."""
    return data_part("keda", "values", watched=watched)


def keda_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of a fleet's release: ServiceMonitors where its Prometheus scrapes KEDA too, with the
    labels by which it selects them; the declared `values` merged last."""
    monitoring = fleet.spec.monitoring
    watched = monitoring is not None and monitoring.backend is MonitoringBackend.PROMETHEUS
    values = keda_values(watched=watched)
    if watched and monitoring is not None and monitoring.labels:
        labelled = {"serviceMonitor": {"additionalLabels": dict(monitoring.labels)}}
        values = merged(values, {"prometheus": {"operator": labelled, "metricServer": labelled}})
    return with_images(fleet, CHART, merged(values, fleet.spec.addons.keda.values))


def installs_keda(fleet: Fleet) -> bool:
    """Whether a fleet installs KEDA: only if the declaration enables it."""
    addon = fleet.spec.addons.keda
    return addon.enabled is True and addon.ownership is Ownership.MANAGED
