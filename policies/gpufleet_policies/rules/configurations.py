"""Rules about configurations of NVIDIA's, Karpenter's and KEDA's software: one for each code of
`gpufleet check`.

They are the rules of `gpufleet.contract.programs`. A document is validated once, and each rule
reports the findings of its code.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gpufleet.cluster import Provenance
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.contract.programs.validation import Verdict
from gpufleet.findings import Finding, Level, Severity
from gpufleet.findings.remediation import JsonPatch
from gpufleet.messages import one_line
from gpufleet.rules.context import RuleContext, SameObject
from gpufleet.rules.rule import Check, Needs, Profile, Rule
from gpufleet_policies.configurations.codes import KindRule, code_space
from gpufleet_policies.rules.checked import declares, verdict
from gpufleet_policies.rules.plugin_text import replicas_patch

_LEVELS = {
    Verdict.REJECT: Level.MANDATORY,
    Verdict.WARN: Level.ADVISORY,
    Verdict.ACCEPT: Level.OFF,
}

_DEFAULTS = (
    "-gpus-override",
    "-shares-gate",
    "-webhook-tls",
    "-no-default",
    "-plugin-too",
    "-dra-too",
    "-nfd-twice",
    "-two-stacks",
    "-cluster-driver",
    "-driver-in-image",
    "-list-strategy",
)
"""Ends of codes that a default of a chart decides: a value that is not known may say otherwise."""
_ABSENCE = ("-missing", "-absent", "-incomplete", "-empty", "-no-requests", "-no-resources")
"""Ends of codes that say something is not there: proof of nothing where parts were not readable."""

_SET_BY_THE_CHART = frozenset(
    {"device-plugin-mps-root-missing", "device-plugin-mps-root-elsewhere"}
)
"""What operator and chart set through the environment: a ConfigMap need not."""

WHOLE_KINDS = frozenset({"karpenter", "autoscaler", "dra-config", "kueue"})
"""Kinds whose objects are validated whole: of a part only some values prove anything."""

_OF_A_VALUE = frozenset(
    {
        "autoscaler-metadata-invalid",
        "autoscaler-metric-type",
        "autoscaler-name-too-long",
        "autoscaler-query-of-many",
        "autoscaler-version-not-served",
        "autoscaler-zero-without-keda",
        "karpenter-al2-ended",
        "karpenter-expire-after-misplaced",
        "karpenter-gpu-name-unknown",
        "karpenter-key-misspelt",
        "karpenter-key-unknown",
        "karpenter-label-restricted",
        "karpenter-latest",
        "karpenter-latest-in-prod",
        "karpenter-overlay-resource",
        "karpenter-version-not-served",
    }
)
"""Of these kinds the codes that one value proves, whatever the others are."""

_OF_A_FORCED_KIND = frozenset(
    {"autoscaler-nothing-to-judge", "karpenter-nothing-to-judge", "kueue-nothing-to-judge"}
)
"""Of a text that is no such configuration; an object is one of a kind, or belongs to some."""

_NEED_THE_WHOLE = frozenset(
    {
        "autoscaler-utilisation-of-server",
        "dra-class-unknown",
        "karpenter-fraction-without-overlay",
        "karpenter-latest",
        "karpenter-latest-in-prod",
        "karpenter-shares-without-overlay",
        "karpenter-slices-without-overlay",
    }
)
"""Codes that another object can disprove: reported when everything is known."""

_BY_THE_CHART = frozenset({"karpenter-overlay-gate-off", "karpenter-static-gate-off"})
"""Codes that the values of Karpenter's chart decide."""

_TOO_MANY = "device-plugin-mps-too-many-clients"


def _violations(context: RuleContext, config: NvidiaConfig) -> dict[str, list[Finding]]:
    """What is wrong with a configuration, by code; computed once for an object."""
    key = ("configuration", SameObject(config))
    found: dict[str, list[Finding]] | None = context.memo.get(key)
    if found is None:
        # A validation that breaks is reported by one rule, not by each.
        context.memo[key] = {}
        findings = verdict(context, config).findings
        if context.place is None and not declares(context, "karpenter"):
            findings = tuple(one for one in findings if one.code not in _BY_THE_CHART)
        found = context.memo[key] = _by_code(config, findings)
    return found


def _by_code(config: NvidiaConfig, findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    kept = [one for one in findings if _is_proven(config, one.code)]
    too_many = {
        one.path: limit
        for one in kept
        if one.code == _TOO_MANY and isinstance(limit := one.evidence.get("limit"), int)
    }
    patch = replicas_patch(config, too_many)
    found: dict[str, list[Finding]] = {}
    for finding in kept:
        if finding.code not in code_space():
            raise KeyError(finding.code)  # a finding without a rule would be lost unseen
        remediation = patch if finding.code == _TOO_MANY else ()
        found.setdefault(finding.code, []).append(_draft(config, finding, remediation))
    return found


def _is_proven(config: NvidiaConfig, code: str) -> bool:
    if config.is_named:
        return True
    if code in _SET_BY_THE_CHART:
        return False
    if not config.complete and config.document and config.kind in WHOLE_KINDS:
        return code in _OF_A_VALUE
    if config.document is not None and code in _OF_A_FORCED_KIND:
        return False
    return config.complete or not code.endswith((*_ABSENCE, *_DEFAULTS))


def _draft(config: NvidiaConfig, found: Finding, remediation: JsonPatch) -> Finding:
    certain = found.severity is Severity.ERROR
    return replace(
        found,
        path=one_line(config.written_at(found.path)),
        message=one_line(found.message),
        fix=None if found.fix is None else one_line(found.fix),
        level=Level.MANDATORY if certain else Level.ADVISORY,
        remediation=remediation,
    )


def _check(code: str) -> Check:
    def check(context: RuleContext, config: NvidiaConfig) -> Iterable[Finding]:
        return _violations(context, config).get(code, ())

    return check


def _rules() -> Iterator[Rule]:
    for code, found in code_space().items():
        yield _rule(code, found, _check(code))


def _rule(code: str, found: KindRule, check: Callable[..., Iterable[Finding]]) -> Rule:
    return Rule(
        id=code,
        sentence=found.rule.sentence,
        family=found.kind,
        subjects=(NvidiaConfig,),
        levels=dict.fromkeys(Profile, _LEVELS[found.rule.verdict]),
        mandatory_needs=Provenance.EXPLICIT,
        needs=frozenset({Needs.SURROUNDINGS} if code in _NEED_THE_WHOLE else ()),
        formula="",
        source=found.rule.source,
        check=check,
        found_by=_violations,
    )


CONFIG_RULES = tuple(_rules())
