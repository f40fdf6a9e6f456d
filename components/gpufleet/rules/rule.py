"""Rule: one check, with its texts, levels, evidence and money."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpufleet.cluster import Provenance, WorkloadFacts
from gpufleet.findings import Finding, Level
from gpufleet.rules.context import RuleContext


class Profile(StrEnum):
    """A set of levels to start from."""

    DEV = "dev"
    PROD = "prod"
    STRICT = "strict"


class Needs(StrEnum):
    """Inputs without which a rule is silent."""

    FLEET = "fleet"
    """The pools the workload may run on."""
    SURROUNDINGS = "surroundings"
    """Everything declared with the object: the whole program, folder or dump."""
    POOLS = "pools"
    """The pools the workload may run on: of a fleet, or declared one by one with it."""


Check = Callable[[RuleContext, Any], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and what is known about it."""

    id: str
    sentence: str
    """The forbidden configuration, in one sentence."""
    family: str
    """Module the rule lives in, or the kind of configuration it is about; its part of the
    documentation."""
    subjects: tuple[type, ...]
    """Types of facts it checks: FleetFacts, WorkloadFacts, ... Most rules check one type."""
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
    """Whether it also checks workloads without GPUs."""
    sees_pools: bool = False
    """Whether it finds more about a workload when pools that are declared one by one are known:
    CrossGuard then runs it again after the whole program."""
    found_by: Callable[[RuleContext, Any], Container[str]] | None = None
    """Of rules that share one validation of an object: the ids of those that it found something
    for, so that hundreds are not asked one by one. None: the rule is asked."""

    @property
    def detail(self) -> str:
        """More about what it finds than its sentence says; empty: nothing more."""
        return " ".join((self.check.__doc__ or "").split())

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
    subject: type | tuple[type, ...] = WorkloadFacts,
    dev: Level,
    prod: Level | None = None,
    strict: Level | None = None,
    mandatory_needs: Provenance = Provenance.EXPLICIT,
    needs: Iterable[Needs] = (),
    formula: str = "",
    source: str,
    without_gpus: bool = False,
    sees_pools: bool = False,
) -> Callable[[Check], Rule]:
    """Make a rule of the decorated check.

    `prod` is `dev` where it is not given, and `strict` is `prod`. Most rules are about workloads.
    """
    in_production = dev if prod is None else prod
    levels = {
        Profile.DEV: dev,
        Profile.PROD: in_production,
        Profile.STRICT: in_production if strict is None else strict,
    }

    def make(check: Check) -> Rule:
        return Rule(
            id=id,
            sentence=sentence,
            family=check.__module__.rsplit(".", 1)[-1],
            subjects=subject if isinstance(subject, tuple) else (subject,),
            levels=levels,
            mandatory_needs=mandatory_needs,
            needs=frozenset(needs),
            formula=formula,
            source=source,
            check=check,
            without_gpus=without_gpus,
            sees_pools=sees_pools,
        )

    return make
