"""Rules about configurations of NVIDIA's, Karpenter's and KEDA's software: one for each code of
`gpufleet check`.

They are the rules of `gpufleet.contract.programs`. A document is validated once, and each rule
reports the findings of its code.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.findings import Finding, Level, Severity
from gpufleet.messages import one_line
from gpufleet.rules.context import RuleContext, SameObject
from gpufleet.rules.rows import SHARED
from gpufleet.rules.rule import Proof, Rule
from gpufleet_policies.configurations.codes import code_space, group_of
from gpufleet_policies.configurations.kinds import WHOLE_KINDS
from gpufleet_policies.rules.checked import declares, verdict


def _by_rule(context: RuleContext, config: NvidiaConfig) -> Mapping[str, Sequence[Finding]]:
    """Faults of a configuration, by code; computed once for an object."""
    key = ("configuration", SameObject(config))
    found: dict[str, list[Finding]] | None = context.memo.get(key)
    if found is None:
        # A validation that breaks is reported by one rule, not by each.
        context.memo[key] = {}
        findings = verdict(context, config).findings
        found = context.memo[key] = _proven(context, config, findings)
    return found


def _proven(
    context: RuleContext, config: NvidiaConfig, findings: Iterable[Finding]
) -> dict[str, list[Finding]]:
    rules = code_space()
    # A finding without a rule would be lost unseen: KeyError.
    kept = [
        one
        for one in findings
        if _is_proven(config, rules[one.code]) and _is_decided(context, rules[one.code])
    ]
    found: dict[str, list[Finding]] = {}
    for one in kept:
        found.setdefault(one.code, []).append(_draft(config, one))
    return found


def _is_decided(context: RuleContext, rule: Rule) -> bool:
    """Whether the values of the chart that decide a rule are known, or it needs none."""
    return not rule.chart or context.place is not None or declares(context, rule.chart)


def _is_proven(config: NvidiaConfig, rule: Rule) -> bool:
    if config.is_named:
        return True
    if rule.proof is Proof.NAMED:
        return False
    if not config.complete and config.document and config.kind in WHOLE_KINDS:
        return rule.proof is Proof.VALUE
    return config.complete or rule.proof is not Proof.WHOLE


def _draft(config: NvidiaConfig, found: Finding) -> Finding:
    certain = found.severity is Severity.ERROR
    shared = found.code.startswith(SHARED)
    return replace(
        found,
        evidence={**found.evidence, "kind": config.kind} if shared else found.evidence,
        path=one_line(config.written_at(found.path)),
        message=one_line(found.message),
        fix=None if found.fix is None else one_line(found.fix),
        level=Level.MANDATORY if certain else Level.ADVISORY,
    )


CONFIG_RULES = tuple(
    replace(rule, found_by=_by_rule, group=group_of(rule)) for rule in code_space().values()
)
