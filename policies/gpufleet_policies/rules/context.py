"""What every rule may look at beside the object it judges."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet_policies.facts import Fact, FleetFacts, Workload, absent
from gpufleet_policies.facts.fleet import PRODUCTION


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits a project may set otherwise. Defaults are those of the rule catalogue."""

    oversized_ratio: Decimal = Decimal("0.35")
    """Memory need over memory asked for, below which a GPU is too big."""
    oversized_mandatory_ratio: Decimal = Decimal("0.15")
    """Below which a declared need stops the deployment."""
    smallest_saving: Decimal = Decimal("0.25")
    """Part of the cost an alternative must save to be worth a finding."""
    idle_sleep_seconds: int = 3600
    """A `sleep` at least this long counts as waiting for ever."""
    large_node_gpus: int = 8
    """GPUs from which a node is too large to stand for one person's notebook."""
    budget_usd_per_hour: Decimal | None = None
    """Most a fleet may cost in an hour at its largest size, beside its own budget."""


@dataclass(frozen=True, slots=True)
class Context:
    """One run's surroundings."""

    today: date
    """UTC. The only clock there is."""
    load_catalogue: Callable[[], Catalogue]
    """The edition that prices are taken from; parsed when first asked for."""
    fleet: FleetFacts | None = None
    """The pools workloads run on; None: not known, or not one alone."""
    environment: Fact[str] = field(default_factory=lambda: absent("environment"))
    """Set by the project; a workload's own annotation and the fleet's declaration win."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    memo: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False, repr=False)
    """What rules of one family reckon once for an object and share."""

    @property
    def catalogue(self) -> Catalogue:
        """The loaded catalogue."""
        return self.load_catalogue()

    def environment_of(self, subject: FleetFacts | Workload) -> Fact[str]:
        """Where a subject runs: what it says, else what its fleet says, else what was set."""
        own = subject.intent.environment if isinstance(subject, Workload) else subject.environment
        if not own.is_absent:
            return own
        if self.fleet is not None and not self.fleet.environment.is_absent:
            return self.fleet.environment
        return self.environment

    def is_production(self, subject: FleetFacts | Workload) -> bool:
        """Whether the subject certainly serves production."""
        found = self.environment_of(subject)
        return found.is_known and found.value.lower() in PRODUCTION

    def is_nonproduction(self, subject: FleetFacts | Workload) -> bool:
        """Whether the subject certainly does not; where nothing is known both are False."""
        found = self.environment_of(subject)
        return found.is_known and found.value.lower() not in PRODUCTION
