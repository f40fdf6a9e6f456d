"""Two fleets of one plan, by how much of the doubt about speed is paid for."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gpufleet_planner.planning.target import Confidence


@dataclass(frozen=True, slots=True)
class PricedFleet:
    """What the fleet of one confidence takes."""

    confidence: Confidence
    usd_per_hour: Decimal | None
    """None: a price is missing, or there is no such fleet."""
    gpus: int | None
    """None: there is no such fleet."""
    problem: str = ""
    """Why there is none."""

    @property
    def text(self) -> str:
        """For people: `worst: 110.0800 USD/h, 16 GPUs`."""
        if self.gpus is None:
            return f"{self.confidence.value}: no fleet ({self.problem})"
        spent = "prices are not known" if self.usd_per_hour is None else _usd(self.usd_per_hour)
        return f"{self.confidence.value}: {spent}, {self.gpus} GPUs"

    def as_dict(self) -> Mapping[str, Any]:
        """Plain data for JSON."""
        spent = self.usd_per_hour
        return {
            "usdPerHour": None if spent is None else f"{spent:.6f}",
            "gpus": self.gpus,
            "problem": self.problem or None,
        }


def _usd(amount: Decimal) -> str:
    return f"{amount:,.4f} USD/h"
