"""The context of every rule: all inputs except the checked object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from gpufleet.catalogue import Catalogue
from gpufleet.cluster import Fact, FleetFacts, WorkloadFacts, absent
from gpufleet.cluster.surroundings import Surroundings
from gpufleet.environment import PRODUCTION

T = TypeVar("T")
P = ParamSpec("P")


class SameObject:
    """A key of `RuleContext.memo`: exactly one object, compared by identity."""

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
    """Limits that a project may change, with the defaults of the rules."""

    oversized_ratio: Decimal = Decimal("0.35")
    """Memory need over memory asked for, below which a GPU is too big."""
    oversized_mandatory_ratio: Decimal = Decimal("0.15")
    """Below which a declared need stops the deployment."""
    smallest_saving: Decimal = Decimal("0.25")
    """Part of the cost an alternative must save to be worth a finding."""
    idle_sleep_seconds: int = 3600
    """A `sleep` of at least this time counts as endless waiting."""
    large_node_gpus: int = 8
    """Number of GPUs from which a node is too large for one notebook."""
    standing_usd_per_month: Decimal | None = None
    """Allowed cost of an unused pool outside production; None: nothing."""
    max_gpus: int = 64
    """Largest number of GPUs of a pool that needs no confirmation."""
    training_gpus: int = 8
    """GPUs from which work that needs all its pods should wait in a queue."""
    owner_tags: tuple[str, ...] = ()
    """Keys of the owner tags; empty: the usual keys, of pools only."""
    owner_values: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """What a patch writes under an owner key that is missing; keys without a value are left."""
    require_attribution: bool = False
    """Whether GPU cost is booked by pod from measured use."""
    many_types: int = 3
    """Machine types a spot pool should be able to choose from."""
    budgets: Mapping[str, EnvironmentBudget] = field(
        default_factory=dict[str, EnvironmentBudget], hash=False
    )
    """Environment in lower case -> its budget; `*`: all other environments."""
    refused_waste_usd_per_month: Decimal = Decimal(1000)
    """Waste from which a declared need with a cheaper place in the same input stops in production;
    where everything is strict, any amount does."""
    longest_waiver_days: int = 180
    """Days from today that a waiver may last at the most."""
    budget_usd_per_hour: Decimal | None = None
    """Most that a fleet may cost in an hour at its largest size; its own budget counts too."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """Inputs of one run of the rules."""

    today: date
    """UTC; rules use no other clock."""
    load_catalogue: Callable[[], Catalogue]
    """The edition that prices are taken from; parsed when first asked for."""
    fleet: FleetFacts | None = None
    """The pools workloads run on; None: not known, or not one alone."""
    surroundings: Surroundings | None = None
    """Everything declared with the object; None: each object is checked alone."""
    environment: Fact[str] = field(default_factory=lambda: absent("environment"))
    """Set by the project; a workload's annotation and the fleet's declaration override it."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    place: Mapping[str, Any] | None = None
    """What `gpufleet check --context` says of the place where configurations will be read; what it
    does not say is the default there. None: no one said anything, and only what is declared here
    counts."""
    select: str | None = None
    """The config, or key of a ConfigMap, that a node will be given."""
    memo: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False, repr=False)
    """What rules of one family compute once for an object and share."""

    @property
    def catalogue(self) -> Catalogue:
        """The loaded catalogue."""
        return self.load_catalogue()

    def declared(self, kind: type[T]) -> tuple[T, ...]:
        """`Surroundings.of`; nothing where each object is checked alone."""
        return () if self.surroundings is None else self.surroundings.of(kind)

    def anywhere(self, kind: type[T]) -> tuple[T, ...]:
        """`Surroundings.anywhere`; nothing where each object is checked alone."""
        return () if self.surroundings is None else self.surroundings.anywhere(kind)

    def environment_of(self, subject: Any) -> Fact[str]:
        """Environment of a subject: its own, else that of its fleet, else that of the settings."""
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
        """Whether the subject certainly does not; both are False where nothing is known."""
        found = self.environment_of(subject)
        return found.is_known and found.value.lower() not in PRODUCTION


def once(
    compute: Callable[Concatenate[RuleContext, P], T],
) -> Callable[Concatenate[RuleContext, P], T]:
    """Compute something about one or several objects once for a context."""

    @wraps(compute)
    def found(context: RuleContext, *objects: P.args, **names: P.kwargs) -> T:
        key = (compute, *map(SameObject, objects))
        if key not in context.memo:
            context.memo[key] = compute(context, *objects, **names)
        return context.memo[key]

    return found
