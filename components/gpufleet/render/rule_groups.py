"""Recording rules and alerts as the objects of a backend: PrometheusRule or VMRule."""

from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet
from gpufleet.render.alerts import alerts
from gpufleet.render.recording_rules import recording_rules
from gpufleet.spec.monitoring import Monitoring, MonitoringBackend

RULES_NAME = "gpufleet"


def rule_groups(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """Groups as any rule file holds them: what is recorded first, then the alerts on it."""
    interval = f"{monitoring.interval_seconds}s"
    recorded = [rule.as_dict() for rule in recording_rules(fleet, monitoring)]
    found = [alert.as_dict() for alert in alerts(fleet, monitoring)]
    groups = [{"name": "gpufleet-recorded", "interval": interval, "rules": recorded}]
    if found:
        groups.append({"name": "gpufleet-alerts", "interval": interval, "rules": found})
    return groups


def rule_object(fleet: Fleet, monitoring: Monitoring) -> dict[str, Any] | None:
    """The object of the backend; None for backend none."""
    kinds = {
        MonitoringBackend.PROMETHEUS: ("monitoring.coreos.com/v1", "PrometheusRule"),
        MonitoringBackend.VICTORIA_METRICS: ("operator.victoriametrics.com/v1beta1", "VMRule"),
    }
    if monitoring.backend not in kinds:
        return None
    api_version, kind = kinds[monitoring.backend]
    spec = {"groups": rule_groups(fleet, monitoring)}
    place, labels = monitoring.namespace, monitoring.labels
    return manifest(api_version, kind, RULES_NAME, place, labels, spec=spec)
