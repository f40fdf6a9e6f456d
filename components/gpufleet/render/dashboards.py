"""Grafana dashboards from `monitoring/*.yaml`, and the ConfigMaps that carry them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet
from gpufleet.render.data_files import data_file, data_part
from gpufleet.render.monitoring_parameters import monitoring_parameters
from gpufleet.spec.monitoring import Monitoring

COLUMNS = 24
OPENSHIFT_NAMESPACE = "openshift-config-managed"
"""Namespace in which OpenShift's console finds dashboards with the label below (OpenShift
documentation, Monitoring, 4.x)."""
OPENSHIFT_LABEL = {"console.openshift.io/dashboard": "true"}


def dashboards(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """The dashboards that have something to show: fleet; team with queues; slices with MIG; cost
    with prices."""
    parameters = monitoring_parameters(fleet, monitoring)
    contents = (data_file(name, parameters) for name in ("fleet", "team", "slices", "cost"))
    return [_dashboard(content) for content in contents if content is not None]


def dashboard_config_maps(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """One ConfigMap per dashboard for Grafana's sidecar, and on OpenShift one more for its console,
    which has its own kinds of panels. Empty if dashboards are off."""
    settings = monitoring.dashboards
    if not settings.enabled:
        return []
    console = settings.openshift_console
    if console is None:
        console = fleet.platform.facts.console_dashboards
    made = dashboards(fleet, monitoring)
    places = [(monitoring.namespace, {settings.label: settings.label_value}, made)]
    if console:
        drawn = [console_dashboard(one) for one in made]
        places.append((OPENSHIFT_NAMESPACE, OPENSHIFT_LABEL, drawn))
    return [
        manifest(
            "v1",
            "ConfigMap",
            one["uid"],
            namespace,
            labels,
            data={f"{one['uid']}.json": json.dumps(one, indent=1, sort_keys=True)},
        )
        for namespace, labels, found in places
        for one in found
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


# The same dashboards for OpenShift's console, which draws kinds of panels of its own.
#
# Source: openshift/monitoring-plugin `web/src/components/dashboards/legacy` (read 2026-11-22):
# panels of other kinds than `graph`, `singlestat`, `gauge`, `table` and `grafana-piechart-panel`
# are left out without a word, a table without `styles` is an error, a row has 12 columns, the query
# of a variable is text.

KINDS: Mapping[str, str] = {
    "timeseries": "graph",
    "stat": "singlestat",
    "bargauge": "grafana-piechart-panel",
    "table": "table",
}
"""Grafana's kind of panel -> the console's. The console draws its pie charts as bars."""
UNITS: Mapping[str, str] = {"currencyUSD": "USD", "celsius": "°C", "watt": "W"}
"""Units that the console lacks -> words in a title."""
ALERT_LABELS = ("alertname", "severity", "node", "gpu", "resource", "cluster_queue")
"""Columns of a table of alerts."""

_BY = re.compile(r"\bby \(([^)]*)\)")


def console_dashboard(dashboard: Mapping[str, Any]) -> dict[str, Any]:
    """A dashboard of ours as the console reads it: the same rows, panels and queries."""
    rows: list[dict[str, Any]] = []
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            rows.append({"title": panel["title"], "showTitle": True, "panels": []})
        else:
            rows[-1]["panels"].append(_console_panel(panel))
    return {
        "uid": dashboard["uid"],
        "title": dashboard["title"],
        "tags": list(dashboard["tags"]),
        "templating": {
            "list": [
                _console_variable(one)
                for one in dashboard["templating"]["list"]
                if one["type"] == "query"
            ]
        },
        "rows": rows,
    }


def _console_variable(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": one["name"],
        "type": "query",
        "query": one["definition"],
        "includeAll": one["includeAll"],
        "hide": 0,
        "options": [],
    }


def _console_panel(panel: Mapping[str, Any]) -> dict[str, Any]:
    defaults = panel["fieldConfig"]["defaults"]
    unit = defaults["unit"]
    suffix = f" ({UNITS[unit]})" if unit in UNITS else ""
    unit = "short" if unit in UNITS else unit
    made: dict[str, Any] = {
        "id": panel["id"],
        "title": f"{panel['title']}{suffix}",
        "type": KINDS[panel["type"]],
        "span": panel["gridPos"]["w"] // 2,
        "targets": [
            {
                "refId": target["refId"],
                "expr": target["expr"],
                "legendFormat": target["legendFormat"],
            }
            for target in panel["targets"]
        ],
    }
    if made["type"] == "graph":
        stacking = defaults["custom"]["stacking"]["mode"]
        made |= {
            "stack": stacking == "normal",
            "legend": {"show": True},
            "yaxes": [{"format": unit}],
        }
    elif made["type"] == "singlestat":
        limits = defaults["thresholds"]["steps"]
        made |= {"format": unit, "options": {"fieldOptions": {"thresholds": _thresholds(limits)}}}
    elif made["type"] == "table":
        made |= {"transform": "table", "styles": _columns(panel, unit, suffix)}
    return made


def _thresholds(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first step holds from the bottom on."""
    return [{"color": one["color"], "value": one["value"] or 0} for one in steps]


def _columns(panel: Mapping[str, Any], unit: str, suffix: str) -> list[dict[str, Any]]:
    """The labels that the query keeps, and the value if it has a meaning."""
    (target,) = panel["targets"]
    kept = _BY.search(target["expr"])
    labels = [one.strip() for one in kept[1].split(",")] if kept else list(ALERT_LABELS)
    columns = [{"alias": name, "pattern": name, "type": "string"} for name in labels]
    if kept:
        value = {"alias": f"value{suffix}", "pattern": "Value", "type": "number", "unit": unit}
        columns.append(value)
    return columns
