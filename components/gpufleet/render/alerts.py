"""Every alert of a fleet, from `monitoring/alerts.yaml`.

Thresholds that depend on the site are in the declaration (`monitoring.alerts`).
"""

from dataclasses import dataclass
from typing import Any, Literal

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Fleet
from gpufleet.render.data_files import data_file
from gpufleet.render.monitoring_parameters import monitoring_parameters
from gpufleet.spec.monitoring import Monitoring

# One alert, as rule files write it.


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert."""

    name: str
    """Begins with Gpu."""
    expression: str
    minutes: int
    """Minutes for which the expression must hold; 0: fires at once."""
    severity: Literal["critical", "warning", "info"]
    """critical: jobs fail or data is lost; warning: money or time is lost; info: for review."""
    summary: str
    """One sentence; may use Prometheus' `{{ $labels.x }}`."""
    remedy: str
    """Action for the operator of the fleet."""

    def as_dict(self) -> dict[str, Any]:
        """The alert in the format of rule files."""
        return {
            "alert": self.name,
            "expr": self.expression,
            **({"for": f"{self.minutes}m"} if self.minutes else {}),
            "labels": {"severity": self.severity},
            "annotations": {"summary": self.summary, "description": self.remedy},
        }


_finding = findings_in(__file__)


def alerts(fleet: Fleet, monitoring: Monitoring) -> list[Alert]:
    """The alerts of a declaration, without disabled ones."""
    if not monitoring.alerts.enabled:
        return []
    left_out = set(monitoring.alerts.without)
    return [alert for alert in _all(fleet, monitoring) if alert.name not in left_out]


def validate_alerts(fleet: Fleet) -> list[Finding]:
    """Names under `without` that are no alert of this fleet."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return []
    known = sorted(alert.name for alert in _all(fleet, monitoring))
    return [
        _finding("alert-unknown", f"monitoring.alerts.without[{index}]", found=name, known=known)
        for index, name in enumerate(monitoring.alerts.without)
        if name not in known
    ]


def _all(fleet: Fleet, monitoring: Monitoring) -> list[Alert]:
    content = data_file("alerts", monitoring_parameters(fleet, monitoring)) or {}
    return [
        Alert(
            row["alert"],
            row["expr"],
            row.get("for", 0),
            row["severity"],
            row["summary"],
            row["description"],
        )
        for row in content["alerts"]
    ]
