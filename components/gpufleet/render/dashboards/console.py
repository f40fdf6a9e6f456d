"""The same dashboards for OpenShift's console, which draws kinds of panels of its own.

Source: openshift/monitoring-plugin `web/src/components/dashboards/legacy` (read 2026-11-22): panels
of other kinds than `graph`, `singlestat`, `gauge`, `table` and `grafana-piechart-panel` are left
out without a word, a table without `styles` is an error, a row has 12 columns, the query of a
variable is text.
"""

import re
from collections.abc import Mapping
from typing import Any

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
            rows[-1]["panels"].append(_panel(panel))
    return {
        "uid": dashboard["uid"],
        "title": dashboard["title"],
        "tags": list(dashboard["tags"]),
        "templating": {
            "list": [
                _variable(one) for one in dashboard["templating"]["list"] if one["type"] == "query"
            ]
        },
        "rows": rows,
    }


def _variable(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": one["name"],
        "type": "query",
        "query": one["definition"],
        "includeAll": one["includeAll"],
        "hide": 0,
        "options": [],
    }


def _panel(panel: Mapping[str, Any]) -> dict[str, Any]:
    defaults = panel["fieldConfig"]["defaults"]
    unit = defaults["unit"]
    told = f" ({UNITS[unit]})" if unit in UNITS else ""
    unit = "short" if unit in UNITS else unit
    made: dict[str, Any] = {
        "id": panel["id"],
        "title": f"{panel['title']}{told}",
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
        made |= {"transform": "table", "styles": _columns(panel, unit, told)}
    return made


def _thresholds(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first step holds from the bottom on."""
    return [{"color": one["color"], "value": one["value"] or 0} for one in steps]


def _columns(panel: Mapping[str, Any], unit: str, told: str) -> list[dict[str, Any]]:
    """The labels that the query keeps, and the value if it has a meaning."""
    (target,) = panel["targets"]
    kept = _BY.search(target["expr"])
    labels = [one.strip() for one in kept[1].split(",")] if kept else list(ALERT_LABELS)
    columns = [{"alias": name, "pattern": name, "type": "string"} for name in labels]
    if kept:
        value = {"alias": f"value{told}", "pattern": "Value", "type": "number", "unit": unit}
        columns.append(value)
    return columns
