"""Monitoring's part of the rendered folder, and the objects the component makes of it."""

import json
from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet
from gpufleet.render.alerts import alerts
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.dashboards import dashboard_config_maps, dashboards
from gpufleet.render.recording_rules import recording_rules
from gpufleet.render.scrape_objects import scrape_objects
from gpufleet.spec.monitoring import Monitoring, MonitoringBackend

_file = files_in(__file__)

RULES_NAME = "gpufleet"


def monitoring_objects(fleet: Fleet) -> list[dict[str, Any]]:
    """Rules, scrapes and dashboards. Empty without monitoring."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return []
    rules = rule_object(fleet, monitoring)
    return [
        *([] if rules is None else [rules]),
        *scrape_objects(fleet, monitoring),
        *dashboard_config_maps(fleet, monitoring),
    ]


def monitoring_files(fleet: Fleet) -> Iterator[Artefact]:
    """Manifests of rules and scrapes, and dashboards as Grafana imports them."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return
    folder, rules = "manifests/monitoring", rule_object(fleet, monitoring)
    if rules is not None:
        yield from _file(f"{folder}/rules.yaml", rules)
        yield from _file(f"{folder}/scrapes.yaml", scrape_objects(fleet, monitoring))
    if monitoring.dashboards.enabled:
        yield from _file(f"{folder}/dashboards.yaml", dashboard_config_maps(fleet, monitoring))
    for one in dashboards(fleet, monitoring):
        text = json.dumps(one, indent=1, sort_keys=True) + "\n"
        yield from _file("dashboards/{uid}.json", text, uid=one["uid"], title=one["title"])


def rule_groups(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """Groups in the format of rule files: recording rules first, then alerts."""
    interval = f"{monitoring.interval_seconds}s"
    rules = recording_rules(fleet, monitoring)
    groups = [{"name": "gpufleet-recorded", "interval": interval, "rules": rules}]
    if found := alerts(fleet, monitoring):
        groups.append({"name": "gpufleet-alerts", "interval": interval, "rules": found})
    return groups


def rule_object(fleet: Fleet, monitoring: Monitoring) -> dict[str, Any] | None:
    """The object of the backend; None for backend `none`."""
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
