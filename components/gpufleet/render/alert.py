"""One alert, as rule files write it."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert."""

    name: str
    """Begins with Gpu."""
    expression: str
    minutes: int
    """How long the expression must hold; 0: at once."""
    severity: Literal["critical", "warning", "info"]
    """critical: jobs fail or data is lost; warning: money or time is; info: worth a look."""
    summary: str
    """One sentence; may use Prometheus' `{{ $labels.x }}`."""
    remedy: str
    """What to do."""

    def as_dict(self) -> dict[str, Any]:
        """As rule files write it."""
        return {
            "alert": self.name,
            "expr": self.expression,
            **({"for": f"{self.minutes}m"} if self.minutes else {}),
            "labels": {"severity": self.severity},
            "annotations": {"summary": self.summary, "description": self.remedy},
        }
