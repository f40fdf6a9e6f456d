"""Rule: one check, with its texts, levels, evidence and money."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Finding, Level, Severity
from gpufleet.findings.provenance import Provenance
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


class Verdict(StrEnum):
    """What becomes of a configuration. The order of the members is the order of badness."""

    ACCEPT = "accept"
    """It will work as it reads."""
    WARN = "warn"
    """It will work, but not as it reads: something written there is dropped or without effect."""
    REJECT = "reject"
    """It fails, or silently does something else."""


LEVELS = {
    Verdict.REJECT: Level.MANDATORY,
    Verdict.WARN: Level.ADVISORY,
    Verdict.ACCEPT: Level.OFF,
}
"""Level, in every profile, of a rule that makes of a configuration what its verdict says."""

_VERDICTS = {level: verdict for verdict, level in LEVELS.items()}
_SEVERITIES = {
    Verdict.ACCEPT: Severity.INFO,
    Verdict.WARN: Severity.WARNING,
    Verdict.REJECT: Severity.ERROR,
}


class Proof(StrEnum):
    """What of a configuration must have been read before a finding about it is certain."""

    PART = "part"
    """What was read; of kinds whose objects are validated whole, all of it."""
    VALUE = "value"
    """One value, whatever the others are."""
    WHOLE = "whole"
    """All of it: the finding says that something is missing."""
    NAMED = "named"
    """That the caller says what kind it is: charts complete it, or it may be of another kind."""


class _Said(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"<{name}>"


Check = Callable[[RuleContext, Any], Iterable[Finding]]
Found = Callable[[RuleContext, Any], Mapping[str, Sequence[Finding]]]
"""One validation of an object that many rules share: id of a rule -> what it found."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is known about a rule, and how it is asked: by `check` or by `found_by`."""

    id: str
    sentence: str
    """The forbidden configuration, in one sentence."""
    levels: Mapping[Profile, Level]
    source: str
    """Where the rule comes from."""
    family: str = ""
    """Module the rule lives in, or the kind of configuration it is about; its part of the
    documentation."""
    subjects: tuple[type, ...] = ()
    """Types of facts it checks: FleetFacts, WorkloadFacts, ... Most rules check one type."""
    check: Check | None = field(default=None, repr=False)
    """None: `found_by` is asked."""
    found_by: Found | None = None
    mandatory_needs: Provenance = Provenance.EXPLICIT
    """Weakest evidence on which it may stop a deployment."""
    needs: frozenset[Needs] = frozenset()
    advice: str = ""
    """What to write instead, with names in braces for what an object says; empty: it depends."""
    limit: str = ""
    """The limit that an object breaks, where it is the same for all; empty: its findings say it."""
    fix: str = ""
    """What to write instead, where it is the same for all; empty: its findings say it."""
    formula: str = ""
    """How the money is computed; empty: a rule of safety, without money."""
    without_gpus: bool = False
    """Whether it also checks workloads without GPUs."""
    sees_pools: bool = False
    """Whether it finds more about a workload when pools that are declared one by one are known:
    CrossGuard then runs it again after the whole program."""
    survey: tuple[str, ...] = ()
    """Ids of what it is in the survey of upstream behaviour (`MP-1`, `DP-7`, ...)."""
    proof: Proof = Proof.PART
    chart: str = ""
    """Chart whose values decide it: silent where neither a release of it nor a context is known."""
    group: str = ""
    """Listed rule whose fault it is: settings and waivers may name that; empty: it is listed."""

    @property
    def verdict(self) -> Verdict:
        """What one finding of it makes of a configuration."""
        return _VERDICTS[self.levels[Profile.PROD].enforced]

    @property
    def severity(self) -> Severity:
        """Severity of a finding where no settings change it."""
        return _SEVERITIES[self.verdict]

    def instead(self, **said: str) -> str:
        """The advice, with what an object says; what it does not say is `<name>`."""
        return self.advice.format_map(_Said(said))

    @property
    def detail(self) -> str:
        """More about what it finds than its sentence says; empty: nothing more."""
        return "" if self.check is None else " ".join((self.check.__doc__ or "").split())

    @property
    def annotation(self) -> str:
        """The annotation that silences it."""
        return f"gpufleet.dev/ignore-{self.id}"

    @property
    def docs(self) -> str:
        """Where it is explained."""
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
    mandatory_needs: Provenance = Provenance.EXPLICIT,
    needs: Iterable[Needs] = (),
    advice: str = "",
    limit: str = "",
    fix: str = "",
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
            advice=advice,
            limit=limit,
            fix=fix,
            formula=formula,
            source=source,
            check=check,
            without_gpus=without_gpus,
            sees_pools=sees_pools,
        )

    return make
