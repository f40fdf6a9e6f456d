"""Grafana dashboards from `monitoring/*.yaml`, and the ConfigMaps that carry them."""

import json
from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet
from gpufleet.render.data_files import data_file, data_part
from gpufleet.render.monitoring_parameters import monitoring_parameters
from gpufleet.spec.monitoring import Monitoring

COLUMNS = 24


def dashboards(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """The dashboards that have something to show: fleet; team with queues; slices with MIG; cost
    with prices."""
    parameters = monitoring_parameters(fleet, monitoring)
    contents = (data_file(name, parameters) for name in ("fleet", "team", "slices", "cost"))
    return [_dashboard(content) for content in contents if content is not None]


def dashboard_config_maps(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """One ConfigMap per dashboard for Grafana's sidecar. Empty if dashboards are off."""
    settings = monitoring.dashboards
    if not settings.enabled:
        return []
    return [
        manifest(
            "v1",
            "ConfigMap",
            one["uid"],
            monitoring.namespace,
            {settings.label: settings.label_value},
            data={f"{one['uid']}.json": json.dumps(one, indent=1, sort_keys=True)},
        )
        for one in dashboards(fleet, monitoring)
    ]


def _dashboard(content: Mapping[str, Any]) -> dict[str, Any]:
    """A dashboard from its data file: rows with a title and panels each, broken where 24 columns
    are full."""
    usual = data_part("grafana", "usual")
    placed: list[dict[str, Any]] = []
    top = 0
    for row in content["rows"]:
        placed.append(data_part("grafana", "row", id=len(placed) + 1, title=row["title"], top=top))
        top += 1
        left = deepest = 0
        for panel in ({**usual, **one} for one in row["panels"]):
            if left + panel["width"] > COLUMNS:
                top, left, deepest = top + deepest, 0, 0
            placed.append(_panel({**panel, "id": len(placed) + 1, "left": left, "top": top}))
            left, deepest = left + panel["width"], max(deepest, panel["height"])
        top += deepest
    variables = [
        data_part("grafana", "datasource"),
        *(data_part("grafana", "variable", **one) for one in content["variables"]),
    ]
    named = {key: content[key] for key in ("uid", "title")}
    return data_part("grafana", "dashboard", **named, variables=variables, panels=placed)


def _panel(panel: Mapping[str, Any]) -> dict[str, Any]:
    """A panel with its query, `expr` and `legend`, or with several of them in `queries`."""
    series = panel["kind"] == "timeseries"
    targets = [
        data_part(
            "grafana",
            "target",
            ref=chr(ord("A") + index),
            expr=one["expr"],
            legend=one.get("legend", ""),
            instant=not series,
            range=series,
            format="table" if panel["kind"] == "table" else None,
        )
        for index, one in enumerate(panel.get("queries", [panel]))
    ]
    limits = [{"color": colour, "value": value} for colour, value in panel["limits"].items()]
    return data_part(
        "grafana",
        "panel",
        **panel,
        targets=targets,
        steps=[{"color": "green", "value": None}, *limits],
        custom=data_part("grafana", "stacked" if panel["stacked"] else "lines") if series else None,
        least=None if panel["most"] is None else 0,
        options=data_part("grafana", "options")[panel["kind"]],
    )
