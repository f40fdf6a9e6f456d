"""Rule: one check, with its texts, levels, evidence and money."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Finding, Level, Severity
from gpufleet.findings.finding import Provenance
from gpufleet.rules.context import RuleContext


class Profile(StrEnum):
    """A preset of levels."""

    DEV = "dev"
    PROD = "prod"
    STRICT = "strict"


class Needs(StrEnum):
    """Inputs without which a rule reports nothing."""

    FLEET = "fleet"
    """The pools that the workload may run on."""
    SURROUNDINGS = "surroundings"
    """All objects declared together with the object: the program, folder or dump."""
    POOLS = "pools"
    """The pools that the workload may run on: of a fleet, or declared one by one with it."""


class Verdict(StrEnum):
    """Result for a configuration. The members are in ascending order of severity."""

    ACCEPT = "accept"
    """It works as written."""
    WARN = "warn"
    """It works, but not as written: a setting is dropped or has no effect."""
    REJECT = "reject"
    """It fails, or silently does something else."""


LEVELS = {
    Verdict.REJECT: Level.MANDATORY,
    Verdict.WARN: Level.ADVISORY,
    Verdict.ACCEPT: Level.OFF,
}
"""Level of a rule about configurations, in every profile, by its verdict."""

_VERDICTS = {level: verdict for verdict, level in LEVELS.items()}
_SEVERITIES = {
    Verdict.ACCEPT: Severity.INFO,
    Verdict.WARN: Severity.WARNING,
    Verdict.REJECT: Severity.ERROR,
}


class Proof(StrEnum):
    """The part of a configuration that must be readable before a finding about it is certain."""

    PART = "part"
    """The parts that were read; for kinds whose objects are validated whole, all of it."""
    VALUE = "value"
    """One value, independent of the others."""
    WHOLE = "whole"
    """All of it: the finding reports something missing."""
    NAMED = "named"
    """The kind, stated by the caller: charts complete the document, or it may have another kind."""


class _Said(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"<{name}>"


Check = Callable[[RuleContext, Any], Iterable[Finding]]
Found = Callable[[RuleContext, Any], Mapping[str, Sequence[Finding]]]
"""One validation of an object that many rules share: id of a rule -> its findings."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The metadata of a rule, and its function: `check` or `found_by`."""

    id: str
    sentence: str
    """The forbidden configuration, in one sentence."""
    levels: Mapping[Profile, Level]
    source: str
    """Source of the rule."""
    family: str = ""
    """Module of the rule, or the kind of configuration that it checks; its section of the
    documentation."""
    subjects: tuple[type, ...] = ()
    """Types of facts it checks: FleetFacts, WorkloadFacts, ... Most rules check one type."""
    check: Check | None = field(default=None, repr=False)
    """None: `found_by` is called."""
    found_by: Found | None = None
    mandatory_needs: Provenance = Provenance.EXPLICIT
    """Weakest provenance on which it may stop a deployment."""
    needs: frozenset[Needs] = frozenset()
    advice: str = ""
    """What to write instead, with facts of an object as names in braces; empty: it varies."""
    limit: str = ""
    """The limit that an object violates, if it is the same for all; empty: each finding has it."""
    fix: str = ""
    """What to write instead, if it is the same for all; empty: each finding has it."""
    formula: str = ""
    """Formula of the money; empty: a safety rule, without money."""
    without_gpus: bool = False
    """Whether it also checks workloads without GPUs."""
    sees_pools: bool = False
    """Whether it reports more about a workload when pools are known that are declared one by one:
    CrossGuard then runs it again after the whole program."""
    survey: tuple[str, ...] = ()
    """Ids of the rule in the survey of upstream behaviour (`MP-1`, `DP-7`, ...)."""
    proof: Proof = Proof.PART
    chart: str = ""
    """Chart whose values it reads: not applied if neither a release nor a context is known."""
    group: str = ""
    """Listed rule to which this rule belongs; settings and waivers may name that; empty: none."""

    @property
    def verdict(self) -> Verdict:
        """Effect of one finding on a configuration."""
        return _VERDICTS[self.levels[Profile.PROD].enforced]

    @property
    def severity(self) -> Severity:
        """Severity of a finding if no setting changes it."""
        return _SEVERITIES[self.verdict]

    def instead(self, **said: str) -> str:
        """The advice with facts of an object; a missing fact is shown as `<name>`."""
        return self.advice.format_map(_Said(said))

    @property
    def detail(self) -> str:
        """Details beyond the sentence; empty: none."""
        return "" if self.check is None else " ".join((self.check.__doc__ or "").split())

    @property
    def annotation(self) -> str:
        """The annotation that waives it."""
        return f"gpufleet.dev/ignore-{self.id}"

    @property
    def docs(self) -> str:
        """Address of its documentation."""
        page = f"policies/{self.group}.md" if self.group else "policies.md"
        return f"docs/{page}#{self.id}"


def rule(
    id: str,
    sentence: str,
    *,
    subject: type | tuple[type, ...] = WorkloadFacts,
    dev: Level,
    prod: Level | None = None,
    strict: Level | None = None,
    needs: Iterable[Needs] = (),
    source: str,
    **fields: Any,
) -> Callable[[Check], Rule]:
    """Register the decorated check as a rule.

    `prod` is `dev` where it is not given, and `strict` is `prod`. Most rules are about workloads.
    `fields`: further fields of `Rule`, such as `advice`.
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
            needs=frozenset(needs),
            source=source,
            check=check,
            **fields,
        )

    return make
