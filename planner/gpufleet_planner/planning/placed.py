"""A workload of a plan and its place, and the fleet of each confidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.need import Assurance, WorkloadNeed
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.workloads import ModelWorkload, Notebooks


@dataclass(frozen=True, slots=True)
class ChosenWorkload:
    """One workload with the options it has."""

    path: str
    entry: ModelWorkload | Notebooks
    need: WorkloadNeed | None
    """None for notebooks."""
    choice: ServingChoice

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.entry.name

    @property
    def namespace(self) -> str:
        """Namespace of its pods: that of its team."""
        return self.entry.team or "default"

    @property
    def ends(self) -> bool:
        """A job: it runs for a time, so the cheapest run counts, not the cheapest hour."""
        return self.need is not None and self.need.trains

    @property
    def intent(self) -> str:
        """The pool's intent: it sets disruption, spot and packing defaults."""
        if self.need is None:
            return "interactive"
        if not self.need.trains:
            return "inference"
        return "batch" if self.entry.interruptible else "training"


@dataclass(frozen=True, slots=True)
class PlacedWorkload(ChosenWorkload):
    """One workload and where it runs."""

    option: Option
    pools: tuple[str, ...]
    """One, or for slices the pools whose nodes offer them."""

    @property
    def runner_up(self) -> Option | None:
        """The cheapest option on another GPU or share."""
        mine = (self.option.machine.gpu.key, self.option.share.resource_key)
        return next(
            (o for o in self.choice.options if (o.machine.gpu.key, o.share.resource_key) != mine),
            None,
        )


@dataclass(frozen=True, slots=True)
class PricedFleet:
    """Size and cost of the fleet of one confidence."""

    confidence: Assurance
    usd_per_hour: Decimal | None
    """None: a price is missing, or the fleet does not exist."""
    gpus: int | None
    """None: the fleet does not exist."""
    problem: str = ""
    """Reason why the fleet does not exist."""

    @property
    def text(self) -> str:
        """For people: `worst: 110.0800 USD/h, 16 GPUs`."""
        if self.gpus is None:
            return f"{self.confidence.value}: no fleet ({self.problem})"
        spent = self.usd_per_hour
        shown = "prices are not known" if spent is None else f"{spent:,.4f} USD/h"
        return f"{self.confidence.value}: {shown}, {self.gpus} GPUs"

    def as_dict(self) -> Mapping[str, Any]:
        """Plain data for JSON."""
        spent = self.usd_per_hour
        return {
            "usdPerHour": None if spent is None else f"{spent:.6f}",
            "gpus": self.gpus,
            "problem": self.problem or None,
        }
