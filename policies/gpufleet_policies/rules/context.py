"""What every rule may look at next to the object it validates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet_policies.facts import Fact, FleetFacts, WorkloadFacts, absent
from gpufleet_policies.facts.fleet import PRODUCTION
from gpufleet_policies.facts.surroundings import Surroundings


class SameObject:
    """A key of `Context.memo`: one object, which the key keeps, and no other that equals it."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True, slots=True)
class EnvironmentBudget:
    """What all pools of an environment may cost together."""

    standing_usd_per_month: Decimal | None = None
    """At their smallest sizes, for 730 hours; None: no limit."""
    exposure_usd_per_hour: Decimal | None = None
    """At their largest sizes; None: no limit."""


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
    """GPUs from which a node is too large to represent one person's notebook."""
    standing_usd_per_month: Decimal | None = None
    """What a pool outside production may cost while no one uses it; None: nothing."""
    max_gpus: int = 64
    """GPUs from which a single pool's largest size needs someone's word."""
    quiet_usd_per_month: Decimal = Decimal(1000)
    """Standing GPU cost below which no one needs a budget alarm."""
    training_gpus: int = 8
    """GPUs from which work that needs all its pods should wait in a queue."""
    owner_tags: tuple[str, ...] = ()
    """Keys that say whose a GPU is; empty: the usual ones, of pools only."""
    owner_values: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """What a patch writes under an owner key that is missing; keys without a value are left."""
    require_attribution: bool = False
    """Whether GPU cost is booked by pod from measured use."""
    many_types: int = 3
    """Machine types a spot pool should be able to choose from."""
    budgets: Mapping[str, EnvironmentBudget] = field(
        default_factory=dict[str, EnvironmentBudget], hash=False
    )
    """Environment in lower case -> its budget; `*`: every other one."""
    budget_usd_per_hour: Decimal | None = None
    """Most a fleet may cost in an hour at its largest size, next to its own budget."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """One run's surroundings."""

    today: date
    """UTC. The only clock there is."""
    load_catalogue: Callable[[], Catalogue]
    """The edition that prices are taken from; parsed when first asked for."""
    fleet: FleetFacts | None = None
    """The pools workloads run on; None: not known, or not one alone."""
    surroundings: Surroundings | None = None
    """Everything declared next to the object; None: objects are seen one by one."""
    environment: Fact[str] = field(default_factory=lambda: absent("environment"))
    """Set by the project; a workload's own annotation and the fleet's declaration win."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    memo: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False, repr=False)
    """What rules of one family compute once for an object and share."""

    @property
    def catalogue(self) -> Catalogue:
        """The loaded catalogue."""
        return self.load_catalogue()

    def environment_of(self, subject: Any) -> Fact[str]:
        """Where a subject runs: what it says, else what its fleet says, else what was set."""
        if isinstance(subject, WorkloadFacts):
            own = subject.intent.environment
        else:
            own = getattr(subject, "environment", None)
        if own is not None and not own.is_absent:
            return own
        if self.fleet is not None and not self.fleet.environment.is_absent:
            return self.fleet.environment
        return self.environment

    def is_production(self, subject: Any) -> bool:
        """Whether the subject certainly serves production."""
        found = self.environment_of(subject)
        return found.is_known and found.value.lower() in PRODUCTION

    def is_nonproduction(self, subject: Any) -> bool:
        """Whether the subject certainly does not; where nothing is known both are False."""
        found = self.environment_of(subject)
        return found.is_known and found.value.lower() not in PRODUCTION
