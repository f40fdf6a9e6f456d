"""Parts of a Grafana dashboard, placed in rows of 24 columns.

Format: Grafana's dashboard JSON, schema version 39 (Grafana 10.3 and later read it). Only fields
that our dashboards use are written; Grafana adds the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = 39
COLUMNS = 24
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel."""

    title: str
    queries: tuple[tuple[str, str], ...]
    """Expression and legend, `{{label}}`."""
    kind: str = "timeseries"
    """`timeseries`, `stat`, `bargauge` or `table`."""
    unit: str = "short"
    """Grafana's word for the unit: `percentunit`, `currencyUSD`, `celsius`, `watt`, `short`."""
    width: int = 12
    """Columns, of 24."""
    height: int = 8
    description: str = ""
    stacked: bool = False
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    """Colour -> lowest value with this colour."""
    most: float | None = None
    """Upper end of the axis. Default: chosen from the data."""


def dashboard(content: Mapping[str, Any]) -> dict[str, Any]:
    """A dashboard from its data file: rows with a title and panels each, broken where 24 columns
    are full."""
    placed: list[dict[str, Any]] = []
    top = 0
    for row in content["rows"]:
        placed.append(_row(len(placed) + 1, row["title"], top))
        top += 1
        left = deepest = 0
        for panel in map(_read, row["panels"]):
            if left + panel.width > COLUMNS:
                top, left, deepest = top + deepest, 0, 0
            placed.append(_panel(len(placed) + 1, panel, left, top))
            left, deepest = left + panel.width, max(deepest, panel.height)
        top += deepest
    return {
        "uid": content["uid"],
        "title": content["title"],
        "tags": ["gpufleet"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "templating": {
            "list": [_datasource(), *(_variable(**one) for one in content["variables"])]
        },
        "panels": placed,
    }


def _read(row: Mapping[str, Any]) -> Panel:
    """A panel of a data file: `expr` and `legend`, or several of them in `queries`."""
    queries = row.get("queries", [row])
    settings = {key: row[key] for key in row if key not in ("queries", "expr", "legend", "limits")}
    limits = {colour: one for colour, one in row.get("limits", {}).items() if one is not None}
    return Panel(
        queries=tuple((one["expr"], one.get("legend", "")) for one in queries),
        limits=limits,
        **settings,
    )


def _variable(name: str, label: str, query: str) -> dict[str, Any]:
    """A choice of label values; all of them by default."""
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
        "sort": 1,
    }


def _datasource() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "refresh": 1,
    }


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": top},
        "panels": [],
    }


def _panel(number: int, panel: Panel, left: int, top: int) -> dict[str, Any]:
    instant = panel.kind != "timeseries"
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "thresholds": {
            "mode": "absolute",
            "steps": [
                {"color": "green", "value": None},
                *({"color": colour, "value": value} for colour, value in panel.limits.items()),
            ],
        },
    }
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        defaults["custom"] = {"fillOpacity": 30 if panel.stacked else 5, "stacking": stacking}
    if panel.most is not None:
        defaults |= {"min": 0, "max": panel.most}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "gridPos": {"h": panel.height, "w": panel.width, "x": left, "y": top},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel.kind),
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": DATASOURCE,
                "expr": expression,
                "legendFormat": legend,
                "instant": instant,
                "range": not instant,
                **({"format": "table"} if panel.kind == "table" else {}),
            }
            for index, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _options(kind: str) -> dict[str, Any]:
    last = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    return {
        "timeseries": {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "stat": {"reduceOptions": last, "colorMode": "value", "graphMode": "area"},
        "bargauge": {"reduceOptions": last, "orientation": "horizontal", "displayMode": "basic"},
        "table": {"showHeader": True, "footer": {"show": False}},
    }[kind]
