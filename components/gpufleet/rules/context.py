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
    """Cost limits for all pools of an environment together."""

    standing_usd_per_month: Decimal | None = None
    """At their minimum sizes, for 730 hours; None: no limit."""
    exposure_usd_per_hour: Decimal | None = None
    """At their maximum sizes; None: no limit."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits that a project may change, with the defaults of the rules."""

    oversized_ratio: Decimal = Decimal("0.35")
    """Memory need divided by requested memory; a GPU is too large below this ratio."""
    oversized_mandatory_ratio: Decimal = Decimal("0.15")
    """Ratio below which a declared need stops the deployment."""
    smallest_saving: Decimal = Decimal("0.25")
    """Share of the cost that an alternative must save to be reported."""
    idle_sleep_seconds: int = 3600
    """A `sleep` of at least this time counts as endless waiting."""
    large_node_gpus: int = 8
    """Number of GPUs from which a node is too large for one notebook."""
    standing_usd_per_month: Decimal | None = None
    """Allowed cost of an unused pool outside production; None: no cost is allowed."""
    max_gpus: int = 64
    """Maximum number of GPUs of a pool that needs no confirmation."""
    training_gpus: int = 8
    """Number of GPUs from which a workload that needs all its pods should wait in a queue."""
    owner_tags: tuple[str, ...] = ()
    """Keys of the owner tags; empty: the usual keys, of pools only."""
    many_types: int = 3
    """Number of machine types that a spot pool should be able to choose from."""
    budgets: Mapping[str, EnvironmentBudget] = field(
        default_factory=dict[str, EnvironmentBudget], hash=False
    )
    """Environment in lower case -> its budget; `*`: all other environments."""
    refused_waste_usd_per_month: Decimal = Decimal(1000)
    """Monthly waste from which a declared need with a cheaper alternative in the same input stops a
    production deployment; in the profile `strict` any amount does."""
    longest_waiver_days: int = 180
    """Maximum duration of a waiver, in days from today."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """Inputs of one run of the rules."""

    today: date
    """UTC; rules use no other clock."""
    load_catalogue: Callable[[], Catalogue]
    """Loads the edition with the prices; called on first use."""
    fleet: FleetFacts | None = None
    """The pools that workloads run on; None: not known, or several fleets."""
    surroundings: Surroundings | None = None
    """All objects declared together with the object; None: each object is checked alone."""
    environment: Fact[str] = field(default_factory=lambda: absent("environment"))
    """Set by the project; a workload's annotation and the fleet's declaration override it."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    place: Mapping[str, Any] | None = None
    """The context of `gpufleet check --context`, which describes where configurations will be read;
    missing keys have their defaults. None: no context is given, and only the declared objects
    count."""
    select: str | None = None
    """The config, or key of a ConfigMap, that a node uses."""
    memo: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False, repr=False)
    """Results that rules of one family compute once for an object and share."""
    run: "RuleContext | None" = field(default=None, compare=False, repr=False)
    """The context of the whole run, if more of its facts may belong to this cluster."""

    @property
    def catalogue(self) -> Catalogue:
        """The loaded catalogue."""
        return self.load_catalogue()

    def declared(self, kind: type[T]) -> tuple[T, ...]:
        """`Surroundings.of`; empty if each object is checked alone."""
        return () if self.surroundings is None else self.surroundings.of(kind)

    def anywhere(self, kind: type[T]) -> tuple[T, ...]:
        """Facts of one type that are or may be of the same cluster: no others can be."""
        return (self.run or self).declared(kind)

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
        """Whether the subject certainly does not; both are False for an unknown environment."""
        found = self.environment_of(subject)
        return found.is_known and found.value.lower() not in PRODUCTION


def once(
    compute: Callable[Concatenate[RuleContext, P], T],
) -> Callable[Concatenate[RuleContext, P], T]:
    """Compute a value for one or several objects once per context."""

    @wraps(compute)
    def found(context: RuleContext, *objects: P.args, **names: P.kwargs) -> T:
        key = (compute, *map(SameObject, objects))
        if key not in context.memo:
            context.memo[key] = compute(context, *objects, **names)
        return context.memo[key]

    return found
