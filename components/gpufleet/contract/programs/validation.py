"""What `check` answers: a verdict with findings, and the rules that lead there."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from gpufleet.findings import Finding, Severity, ordered


class Verdict(StrEnum):
    """What becomes of a configuration. The order of the members is the order of badness."""

    ACCEPT = "accept"
    """It will work as it reads."""
    WARN = "warn"
    """It will work, but not as it reads: something written there is dropped or without effect."""
    REJECT = "reject"
    """It fails, or silently does something else."""


SEVERITIES = {
    Verdict.ACCEPT: Severity.INFO,
    Verdict.WARN: Severity.WARNING,
    Verdict.REJECT: Severity.ERROR,
}
"""Severity of a finding that makes of the whole what its rule says."""


@dataclass(frozen=True, slots=True)
class CheckRule:
    """One thing `check` knows. The table in docs/check.md is made from these."""

    code: str
    """Code of the finding."""
    ids: tuple[str, ...]
    """Ids of the rule in the survey of upstream behaviour (`MP-1`, `DP-7`, ...)."""
    verdict: Verdict
    """What one such finding makes of the whole."""
    sentence: str
    """When it applies and what upstream does then."""
    source: str
    """Where upstream says or does so."""


def reject(code: str, ids: tuple[str, ...], sentence: str, source: str) -> CheckRule:
    """A rule about what fails, or silently does something else."""
    return CheckRule(code, ids, Verdict.REJECT, sentence, source)


def warn(code: str, ids: tuple[str, ...], sentence: str, source: str) -> CheckRule:
    """A rule about what is dropped or without effect."""
    return CheckRule(code, ids, Verdict.WARN, sentence, source)


def accept(code: str, ids: tuple[str, ...], sentence: str, source: str) -> CheckRule:
    """A rule about what works, and is worth to know."""
    return CheckRule(code, ids, Verdict.ACCEPT, sentence, source)


def written_rules(file: Path) -> tuple[CheckRule, ...]:
    """The rules of a file: one JSON object a line, with the fields of `CheckRule`."""
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(
        CheckRule(
            row["code"], tuple(row["ids"]), Verdict(row["verdict"]), row["sentence"], row["source"]
        )
        for row in rows
    )


RuleTable = Mapping[str, CheckRule]


def rule_table(*rules: CheckRule) -> dict[str, CheckRule]:
    """Rules by code. Raises ValueError when a code is there twice."""
    table = {rule.code: rule for rule in rules}
    if len(table) != len(rules):
        raise ValueError("a finding code is used by two rules of one kind")
    return table


@dataclass(frozen=True, slots=True)
class AdvertisedByConfig:
    """What a node publishes once the configuration is in force."""

    allocatable: Mapping[str, int]
    """Extended resource -> amount per node."""
    labels: Mapping[str, str]
    """Node labels of GPU Feature Discovery that follow from it."""

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"allocatable": dict(self.allocatable), "labels": dict(self.labels)}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer to `check`."""

    findings: tuple[Finding, ...] = ()
    advertises: AdvertisedByConfig | None = None
    """None where the configuration advertises nothing, or what it does is not known."""

    @property
    def verdict(self) -> Verdict:
        """The worst any finding makes of it."""
        severities = {finding.severity for finding in self.findings}
        if Severity.ERROR in severities:
            return Verdict.REJECT
        return Verdict.WARN if Severity.WARNING in severities else Verdict.ACCEPT

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "verdict": self.verdict.value,
            "findings": [finding.as_dict() for finding in self.findings],
            "advertises": self.advertises.as_dict() if self.advertises is not None else None,
        }


@dataclass(slots=True)
class CheckReport:
    """Collects findings under the rules of one kind."""

    rules: RuleTable
    findings: list[Finding] = field(default_factory=list[Finding])

    def add(
        self,
        code: str,
        path: str,
        message: str,
        fix: str | None = None,
        *,
        uncertain: bool = False,
        **evidence: object,
    ) -> None:
        """Add the finding of a rule, as a warning where the case is uncertain. Raises KeyError for
        a code that has none."""
        rule = self.rules[code]
        facts: dict[str, object] = {"rules": rule.ids, **evidence, "source": rule.source}
        severity = Severity.WARNING if uncertain else SEVERITIES[rule.verdict]
        self.findings.append(Finding(code, severity, path, message, facts, fix))

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add findings of another validate."""
        self.findings.extend(findings)

    @property
    def rejected(self) -> bool:
        """Whether any finding so far is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def validation(self, advertises: AdvertisedByConfig | None = None) -> Judgement:
        """The answer; what is rejected advertises nothing."""
        return Judgement(ordered(self.findings), None if self.rejected else advertises)
