"""Rules about configurations of NVIDIA's, Karpenter's and KEDA's software: one for each code of
`gpufleet check`.

They are the rules of `gpufleet.contract.foreign`. A document is validated once, and each rule
reports the findings of its code.
"""

from collections.abc import Callable, Iterable, Iterator

from gpufleet.contract.foreign.codes import KindRule, code_space
from gpufleet.contract.foreign.validation import Verdict
from gpufleet.findings import Finding, Severity
from gpufleet_policies.facts import Provenance
from gpufleet_policies.facts.nvidia import NvidiaConfig
from gpufleet_policies.rules.checked import verdict
from gpufleet_policies.rules.context import RuleContext, SameObject
from gpufleet_policies.rules.plugin_text import replicas_patch
from gpufleet_policies.rules.remediation import JsonPatch
from gpufleet_policies.rules.rule import Check, Level, Profile, Rule, Violation

_LEVELS = {
    Verdict.REJECT: Level.MANDATORY,
    Verdict.WARN: Level.ADVISORY,
    Verdict.ACCEPT: Level.OFF,
}

_ABSENCE = ("-missing", "-absent", "-incomplete", "-empty", "-no-resources")
"""Ends of codes that say something is not there: proof of nothing where parts were not readable."""

_SET_BY_THE_CHART = frozenset(
    {"device-plugin-mps-root-missing", "device-plugin-mps-root-elsewhere"}
)
"""What operator and chart set through the environment: a ConfigMap need not."""

_TOO_MANY = "device-plugin-mps-too-many-clients"


def _violations(context: RuleContext, config: NvidiaConfig) -> dict[str, list[Violation]]:
    """What is wrong with a configuration, by code; computed once for an object."""
    key = ("configuration", SameObject(config))
    found: dict[str, list[Violation]] | None = context.memo.get(key)
    if found is None:
        # A validation that breaks is reported by one rule, not by each.
        context.memo[key] = {}
        found = context.memo[key] = _by_code(config, verdict(context, config).findings)
    return found


def _by_code(config: NvidiaConfig, findings: Iterable[Finding]) -> dict[str, list[Violation]]:
    kept = [one for one in findings if _is_proven(config, one.code)]
    too_many = {
        one.path: limit
        for one in kept
        if one.code == _TOO_MANY and isinstance(limit := one.evidence.get("limit"), int)
    }
    patch = replicas_patch(config, too_many)
    found: dict[str, list[Violation]] = {}
    for finding in kept:
        if finding.code not in code_space():
            raise KeyError(finding.code)  # a finding without a rule would be lost unseen
        remediation = patch if finding.code == _TOO_MANY else ()
        found.setdefault(finding.code, []).append(_violation(config, finding, remediation))
    return found


def _is_proven(config: NvidiaConfig, code: str) -> bool:
    if code in _SET_BY_THE_CHART:
        return False
    return config.complete or not code.endswith(_ABSENCE)


def _violation(config: NvidiaConfig, finding: Finding, remediation: JsonPatch) -> Violation:
    return Violation(
        where=config.written_at(finding.path),
        found=finding.message,
        limit="",
        alternative=finding.fix or "",
        evidence=finding.evidence,
        at_most=Level.MANDATORY if finding.severity is Severity.ERROR else Level.ADVISORY,
        remediation=remediation,
    )


def _check(code: str) -> Check:
    def check(context: RuleContext, config: NvidiaConfig) -> Iterable[Violation]:
        return _violations(context, config).get(code, ())

    return check


def _rules() -> Iterator[Rule]:
    for code, found in code_space().items():
        yield _rule(code, found, _check(code))


def _rule(code: str, found: KindRule, check: Callable[..., Iterable[Violation]]) -> Rule:
    return Rule(
        id=code,
        sentence=found.rule.sentence,
        family=found.kind,
        subjects=(NvidiaConfig,),
        levels=dict.fromkeys(Profile, _LEVELS[found.rule.verdict]),
        mandatory_needs=Provenance.EXPLICIT,
        needs=frozenset(),
        formula="",
        source=found.rule.source,
        check=check,
    )


CONFIG_RULES = tuple(_rules())
