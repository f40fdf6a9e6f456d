"""Rule: one thing that is validated, in one place, with everything there is to say about it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpufleet_policies.facts import Provenance
from gpufleet_policies.facts.locator import one_line
from gpufleet_policies.money import Money
from gpufleet_policies.rules.context import RuleContext
from gpufleet_policies.rules.creation import Creation
from gpufleet_policies.rules.remediation import JsonPatch


class Level(StrEnum):
    """What a finding does."""

    OFF = "off"
    ADVISORY = "advisory"
    """Shown; nothing stops."""
    MANDATORY = "mandatory"
    """The deployment stops before anything is made."""
    REMEDIATE = "remediate"
    """`pulumi` fixes it on the way where the rule knows how; what is left counts as mandatory, and
    so does everything in other fronts."""

    @property
    def enforced(self) -> "Level":
        """What a finding of this level does when nothing fixes it."""
        return Level.MANDATORY if self is Level.REMEDIATE else self


class Profile(StrEnum):
    """A set of levels to start from."""

    DEV = "dev"
    PROD = "prod"
    STRICT = "strict"


class Needs(StrEnum):
    """What a rule cannot validate without; where it is missing the rule is silent."""

    FLEET = "fleet"
    """The pools the workload may run on."""
    SURROUNDINGS = "surroundings"
    """Everything declared next to the object: the whole program, folder or dump."""
    POOLS = "pools"
    """The pools the workload may run on, of a fleet or declared one by one next to it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What a rule found about one place of one object. The runner makes a finding of it."""

    where: str
    """Container, group or field, in words; empty: the object itself."""
    found: str
    limit: str
    """What it breaks."""
    alternative: str
    """The cheaper or possible thing to write instead."""
    money: Money | None = None
    provenance: Provenance = Provenance.EXPLICIT
    """The weakest evidence the verdict rests on."""
    at_most: Level = Level.MANDATORY
    """Caps the level where the rule itself is less sure, or the amount is small."""
    evidence: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    remediation: JsonPatch = field(default=(), hash=False)
    """Operations of RFC 6902 on the validated object; empty: a person must decide."""
    creates: tuple[Creation, ...] = ()
    """Objects whose being there fixes it; none of them is declared yet."""

    def __post_init__(self) -> None:
        for name in ("where", "found", "limit", "alternative"):
            object.__setattr__(self, name, one_line(getattr(self, name)))


Check = Callable[[RuleContext, Any], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and what is known about it."""

    id: str
    sentence: str
    """What must not be, in one sentence."""
    family: str
    """Module the rule lives in; its page of the documentation."""
    subjects: tuple[type, ...]
    """Facts it validates: FleetFacts, Workload, ... Most validate one type."""
    levels: Mapping[Profile, Level]
    mandatory_needs: Provenance
    """Weakest evidence on which it may stop a deployment."""
    needs: frozenset[Needs]
    formula: str
    """How the money is computed; empty: a rule of safety, without money."""
    source: str
    """Where the rule comes from."""
    check: Check = field(repr=False)
    without_gpus: bool = False
    """Whether it has something to say about workloads that ask for no GPU."""
    sees_pools: bool = False
    """Whether it can say more of a workload once the pools next to it, declared one by one, are
    known: CrossGuard then asks it again when it has seen the whole program."""

    @property
    def annotation(self) -> str:
        """The annotation that silences it."""
        return f"gpufleet.dev/ignore-{self.id}"

    @property
    def docs(self) -> str:
        """Where it is explained."""
        return f"docs/policies.md#{self.id}"


def rule(
    id: str,
    sentence: str,
    *,
    subject: type | tuple[type, ...],
    dev: Level,
    prod: Level,
    strict: Level,
    mandatory_needs: Provenance = Provenance.EXPLICIT,
    needs: Iterable[Needs] = (),
    formula: str = "",
    source: str,
    without_gpus: bool = False,
    sees_pools: bool = False,
) -> Callable[[Check], Rule]:
    """Make a rule of the decorated check."""

    def make(check: Check) -> Rule:
        return Rule(
            id=id,
            sentence=sentence,
            family=check.__module__.rsplit(".", 1)[-1],
            subjects=subject if isinstance(subject, tuple) else (subject,),
            levels={Profile.DEV: dev, Profile.PROD: prod, Profile.STRICT: strict},
            mandatory_needs=mandatory_needs,
            needs=frozenset(needs),
            formula=formula,
            source=source,
            check=check,
            without_gpus=without_gpus,
            sees_pools=sees_pools,
        )

    return make
