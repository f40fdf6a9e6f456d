"""Monitoring's part of the rendered folder, and the objects the component makes of it."""

import json
from collections.abc import Iterator
from typing import Any

from gpufleet.fleet.model import Fleet
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.dashboards import dashboard_config_maps, dashboards
from gpufleet.render.rule_groups import rule_object
from gpufleet.render.scrape_objects import scrape_objects

_file = files_in(__file__)


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
