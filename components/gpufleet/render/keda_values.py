"""Values of KEDA's chart (2.20.2)."""

from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import Fleet
from gpufleet.spec.base import Ownership
from gpufleet.spec.monitoring import MonitoringBackend

CHART = "keda"


def keda_values(*, watched: bool) -> dict[str, Any]:
    """The values: a webhook that keeps wrong objects out, instead of letting them pass while it is
    away, and ServiceMonitors of its own metrics where those are wanted."""
    scraped = {"enabled": watched, "serviceMonitor": {"enabled": watched}}
    return {
        "crds": {"install": True},
        "webhooks": {"failurePolicy": "Fail"},
        "prometheus": {"operator": scraped, "metricServer": dict(scraped)},
    }


def keda_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of a fleet's release, the declared `values` merged last."""
    values = merged(keda_values(watched=keda_is_watched(fleet)), keda_fleet_values(fleet))
    return with_images(fleet, CHART, values)


def installs_keda(fleet: Fleet) -> bool:
    """Whether a fleet brings KEDA: only where it is asked for."""
    addon = fleet.spec.addons.keda
    return addon.enabled is True and addon.ownership is Ownership.MANAGED


def keda_is_watched(fleet: Fleet) -> bool:
    """Whether the fleet's monitoring scrapes KEDA too."""
    monitoring = fleet.spec.monitoring
    return monitoring is not None and monitoring.backend is MonitoringBackend.PROMETHEUS


def keda_fleet_values(fleet: Fleet) -> dict[str, Any]:
    """What a fleet adds to the values: the labels by which its Prometheus selects monitors, under
    the raw values of the declaration."""
    monitoring = fleet.spec.monitoring
    own = fleet.spec.addons.keda.values
    if monitoring is None or not monitoring.labels or not keda_is_watched(fleet):
        return dict(own)
    labelled = {"serviceMonitor": {"additionalLabels": dict(monitoring.labels)}}
    return merged({"prometheus": {"operator": labelled, "metricServer": labelled}}, own)
