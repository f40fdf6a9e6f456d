"""A workload of a plan, and where it runs."""

from dataclasses import dataclass

from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.workloads import ModelWorkload, Notebooks


@dataclass(frozen=True, slots=True)
class PlacedWorkload:
    """One workload and where it runs."""

    path: str
    entry: ModelWorkload | Notebooks
    need: WorkloadNeed | None
    """None for notebooks."""
    choice: ServingChoice
    option: Option
    pools: tuple[str, ...]
    """One, or for slices the pools whose nodes offer them."""

    @property
    def namespace(self) -> str:
        """Where its pods are: its team's namespace."""
        return self.entry.team or "default"

    @property
    def runner_up(self) -> Option | None:
        """The cheapest option on another GPU or share."""
        mine = (self.option.machine.gpu.key, self.option.share.resource_key)
        return next(
            (o for o in self.choice.options if (o.machine.gpu.key, o.share.resource_key) != mine),
            None,
        )
