"""`gpufleet check` without `--as`: the audit of one file, with a context, as a verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from gpufleet.catalogue import load
from gpufleet.contract.foreign.codes import code_space
from gpufleet.contract.foreign.validation import AdvertisedByConfig, Judgement, Verdict
from gpufleet.findings import Finding, Severity, ordered
from gpufleet_policies.facts import Surroundings, absent, known
from gpufleet_policies.facts.nvidia import NvidiaConfig
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.reading import read_input
from gpufleet_policies.fronts.audit.releases import with_open_releases
from gpufleet_policies.rules.checked import verdict
from gpufleet_policies.rules.context import RuleContext
from gpufleet_policies.rules.finding import PolicyFinding
from gpufleet_policies.rules.rule import Level
from gpufleet_policies.rules.settings import RuleSettings
from gpufleet_policies.rules.validate import validate

UNJUDGED = "unjudged"
"""The verdict where nothing is wrong, and something was not judged."""


class NothingToCheckError(ValueError):
    """The file holds nothing that a rule reads, or cannot be read; the text says which."""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The answer about one file."""

    findings: tuple[Finding, ...]
    advertises: AdvertisedByConfig | None
    unjudged: tuple[str, ...]
    """What was seen and not judged, with the reason."""

    @property
    def verdict(self) -> str:
        """`accept`, `warn`, `reject` or `unjudged`."""
        found = Judgement(self.findings).verdict
        return UNJUDGED if found is Verdict.ACCEPT and self.unjudged else found.value

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        advertises = None if self.advertises is None else self.advertises.as_dict()
        return {
            "verdict": self.verdict,
            "findings": [finding.as_dict() for finding in self.findings],
            "advertises": advertises,
            "unjudged": list(self.unjudged),
        }


def check_file(
    name: str,
    today: date,
    *,
    gpu: str | None = None,
    select: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> CheckedFile:
    """Run every rule on a file. Raises NothingToCheckError."""
    (reading,) = with_open_releases([read_input(Input(name))])
    if reading.problem:
        raise NothingToCheckError(reading.problem)
    facts = tuple(reading.facts)
    place = {**(context or {}), **({} if gpu is None else {"gpu": gpu})}
    environment = place.get("environment")
    there = RuleContext(
        today=today,
        load_catalogue=load,
        surroundings=Surroundings(facts),
        environment=known(environment) if isinstance(environment, str) else absent("environment"),
        place=place,
        select=select,
    )
    unjudged = tuple(f"{one.object or one.what}: {one.reason}" for one in reading.not_judged)
    if not facts:
        raise NothingToCheckError(
            "; ".join(unjudged) or "no rule reads what it holds; --as names its kind"
        )
    settings = RuleSettings(levels=_NOTES)
    found = [one for fact in facts for one in validate(fact, there, settings)]
    named = len({str(one.locator) for one in facts}) > 1
    findings = ordered(_plain(one, named=named) for one in found)
    configs = [one for one in facts if isinstance(one, NvidiaConfig)]
    advertises = verdict(there, configs[0]).advertises if len(configs) == 1 else None
    is_wrong = any(one.severity is Severity.ERROR for one in findings)
    return CheckedFile(findings, None if is_wrong else advertises, unjudged)


_NOTES = {
    code: Level.ADVISORY
    for code, found in code_space().items()
    if found.rule.verdict is Verdict.ACCEPT
}
"""Rules whose findings are remarks: shown here, and off elsewhere."""


def _plain(finding: PolicyFinding, *, named: bool) -> Finding:
    """A finding with the path in its document, and its object where there are several."""
    found = finding.as_finding()
    where = finding.violation.where
    return Finding(
        found.code,
        Severity.INFO if finding.rule in _NOTES else found.severity,
        f"{finding.locator} {where}".strip() if named else where,
        found.message,
        finding.violation.evidence,
        found.fix,
    )
