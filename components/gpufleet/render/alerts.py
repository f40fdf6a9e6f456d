"""Every alert of a fleet, from `monitoring/alerts.yaml`.

Thresholds that depend on the site are in the declaration (`monitoring.alerts`).
"""

from typing import Any

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Fleet
from gpufleet.render.data_files import data_file
from gpufleet.render.monitoring_parameters import monitoring_parameters
from gpufleet.spec.monitoring import Monitoring

_finding = findings_in(__file__)


def alerts(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """The alerts of a declaration, without disabled ones, as rule files write them."""
    if not monitoring.alerts.enabled:
        return []
    left_out = set(monitoring.alerts.without)
    return [alert for alert in _all(fleet, monitoring) if alert["alert"] not in left_out]


def validate_alerts(fleet: Fleet) -> list[Finding]:
    """Names under `without` that are no alert of this fleet."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return []
    known = sorted(alert["alert"] for alert in _all(fleet, monitoring))
    return [
        _finding("alert-unknown", f"monitoring.alerts.without[{index}]", found=name, known=known)
        for index, name in enumerate(monitoring.alerts.without)
        if name not in known
    ]


def _all(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    content = data_file("alerts", monitoring_parameters(fleet, monitoring)) or {}
    return [
        {
            **{key: row[key] for key in ("alert", "expr")},
            **({"for": f"{row['for']}m"} if row.get("for") else {}),
            "labels": {"severity": row["severity"]},
            "annotations": {key: row[key] for key in ("summary", "description")},
        }
        for row in content["alerts"]
    ]
