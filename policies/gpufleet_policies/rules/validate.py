"""Runs all enabled rules on one object, for every integration."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

from gpufleet.cluster import Locator, UncompiledFleet, WorkloadFacts
from gpufleet.findings import Finding, Level, Severity, finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext, once
from gpufleet.rules.rule import Found, Needs, Profile, Rule
from gpufleet_policies.readers.workload import is_of_known_kind
from gpufleet_policies.rule_evidence import is_over_budget
from gpufleet_policies.rules.claimed import COUNTING, with_claims, with_pods
from gpufleet_policies.rules.exceptions import Exemption, exemptions
from gpufleet_policies.rules.placement import pools_for
from gpufleet_policies.rules.registry import (
    EXCEPTION_INVALID,
    RULE_FAILED,
    by_id,
    type_of,
    validating,
)
from gpufleet_policies.rules.settings import RuleSettings, weighted

_SHAPES = frozenset({"PodTemplate"})
"""Kinds that only describe pods: a ProvisioningRequest or CapacityBuffer names a PodTemplate to
reserve room, and no controller runs it (kubernetes/autoscaler
cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1/types.go, PodTemplateRef)."""


def validate(
    subject: Any,
    context: RuleContext,
    settings: RuleSettings,
    rules: Sequence[Rule] | None = None,
    *,
    keep_waived: bool = False,
) -> list[Finding]:
    """Every finding about one object. Never raises: a rule that does becomes an advisory note.

    Those of a declaration that does not compile are those of the compiler, whatever the settings.

    `rules` narrows the rules; default: all that validate this kind of object. `keep_waived` gives
    findings that an exception silences too, with their waiver.
    """
    if isinstance(subject, UncompiledFleet):
        return list(_of_compile(subject))
    if isinstance(subject, WorkloadFacts) and subject.locator.kind in _SHAPES:
        return []
    if isinstance(subject, WorkloadFacts):
        subject = with_pods(context, subject)
    longest = settings.thresholds.longest_waiver_days
    silenced = exemptions(subject, settings.exceptions, context.today, by_id(), longest)
    profile = settings.profile_for(context, subject)
    findings: list[Finding] = []
    if rules is None:
        findings += _invalid_exceptions(subject, silenced, profile, settings)
    # Most pods of a cluster have no GPU: very few rules read them.
    idle = isinstance(subject, WorkloadFacts) and not (subject.uses_gpus or subject.uses_claims)
    rules = validating(type_of(subject)) if rules is None else rules
    for shared, together in _plan(context, rules, idle, profile, settings):
        found: Mapping[str, Sequence[Finding]] | None = None
        if shared is not None:
            found, broken = _found_by(shared, together[0][0], subject, context)
            findings += broken
            together = [one for one in together if one[0].id in found] if found else []
        for rule, level in together:
            exemption = silenced.get(rule.id) or silenced.get(rule.group)
            if exemption is None or exemption.problem is not None:
                findings += _run(rule, level, subject, context, found, profile)
            elif keep_waived:
                findings += [
                    replace(one, waiver=exemption.waiver)
                    for one in _run(rule, level, subject, context, found, profile)
                    if one.code == rule.id
                ]
    return _with_one_fix(findings) if isinstance(subject, WorkloadFacts) else findings


@once
def _plan(
    context: RuleContext,
    rules: Sequence[Rule],
    without_gpus: bool,
    profile: Profile,
    settings: RuleSettings,
) -> list[tuple[Found | None, list[tuple[Rule, Level]]]]:
    """The active rules with their levels, in order; rules that share one validation of an object
    are together, with it."""
    on = [
        (rule, level)
        for rule in rules
        if (rule.without_gpus or not without_gpus)
        and _can_validate(rule, context)
        and (level := settings.level(rule, profile)) is not Level.OFF
    ]
    shared = groupby(on, key=lambda one: one[0].found_by)
    return [(asked, list(together)) for asked, together in shared]


def _can_validate(rule: Rule, context: RuleContext) -> bool:
    if Needs.FLEET in rule.needs and context.fleet is None:
        return False
    if Needs.POOLS in rule.needs and context.fleet is None and context.surroundings is None:
        return False
    return Needs.SURROUNDINGS not in rule.needs or context.surroundings is not None


def _found_by(
    shared: Found, rule: Rule, subject: Any, context: RuleContext
) -> tuple[Mapping[str, Sequence[Finding]], list[Finding]]:
    """Result of a shared validation, by rule; a note about the first of them where it raises."""
    try:
        return shared(context, subject), []
    except Exception as error:  # noqa: BLE001 - a broken rule must not fail a deployment
        return {}, [_broken(rule, subject.locator, error)]


def _run(
    rule: Rule,
    level: Level,
    subject: Any,
    context: RuleContext,
    found: Mapping[str, Sequence[Finding]] | None,
    profile: Profile,
) -> list[Finding]:
    """The findings of one rule: from a validation that it shares, or from its own check."""
    if found is not None:
        return [_finding(one, rule, level, subject, context, profile) for one in found[rule.id]]
    assert rule.check is not None
    try:
        if rule.family in COUNTING and isinstance(subject, WorkloadFacts):
            subject = with_claims(context, subject)
        drafts = list(rule.check(context, subject))
    except Exception as error:  # noqa: BLE001 - a broken rule must not fail a deployment
        return [_broken(rule, subject.locator, error)]
    return [_finding(one, rule, level, subject, context, profile) for one in drafts]


def _finding(
    draft: Finding,
    rule: Rule,
    level: Level,
    subject: Any,
    context: RuleContext,
    profile: Profile,
) -> Finding:
    """A finding of a rule, with its code, object and level."""
    at_most = Level.MANDATORY if _money_decides(draft, profile, context) else draft.level
    if isinstance(subject, WorkloadFacts) and not is_of_known_kind(subject):
        at_most = Level.ADVISORY  # what its controller makes of a pod template is not known
    if is_over_budget(rule.group or rule.id):
        at_most = Level.ADVISORY
    weighed = weighted(level.enforced, rule, draft.provenance, at_most)
    return replace(
        draft,
        code=rule.id,
        message=f"{draft.message}; {rule.limit}" if rule.limit else draft.message,
        fix=draft.fix or rule.fix or None,
        severity=_severity(weighed),
        level=weighed,
        locator=subject.locator,
        beneath=_beneath(subject, draft, context),
        annotation=rule.annotation,
        docs=rule.docs,
    )


def _money_decides(draft: Finding, profile: Profile, context: RuleContext) -> bool:
    """Whether what is wasted stops what would be advice: priced, with a cheaper place in the same
    input, and in production from the amount of the settings."""
    money = draft.money
    if profile is Profile.DEV or draft.evidence.get("cheaper_here") is not True or money is None:
        return False
    amount = money.usd_per_month
    if money.kind is not AmountKind.WASTE or amount is None:
        return False
    return profile is Profile.STRICT or amount >= context.thresholds.refused_waste_usd_per_month


def _severity(level: Level) -> Severity:
    return Severity.ERROR if level is Level.MANDATORY else Severity.WARNING


def _note(code: str, level: Level, locator: Locator, docs: str, draft: Finding) -> Finding:
    """A finding about the policies themselves, which nothing silences."""
    return replace(
        draft, code=code, severity=_severity(level), level=level, locator=locator, docs=docs
    )


def _beneath(subject: Any, draft: Finding, context: RuleContext) -> tuple[str, ...]:
    """The pools a workload's money may be part of, as messages name them."""
    if draft.money is None or not isinstance(subject, WorkloadFacts):
        return ()
    pools = [pool for group in subject.pod_groups for pool in pools_for(context, group)]
    return tuple(dict.fromkeys(str(pool.locator) for pool in pools))


def _broken(rule: Rule, locator: Locator, error: Exception) -> Finding:
    """A note without the error's text: that could quote a secret property."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return _note(
        RULE_FAILED,
        Level.ADVISORY,
        locator,
        rule.docs,
        finding(
            where="",
            found=f"rule {rule.id} could not check the object: {type(error).__name__}{place}",
            limit=f"the object is not checked by this rule (Python {sys.version_info.major}."
            f"{sys.version_info.minor})",
            alternative="please report it with the object's manifest",
        ),
    )


def _of_compile(fleet: UncompiledFleet) -> Iterator[Finding]:
    """Findings of `gpufleet compile` in a declaration: errors are mandatory, warnings advice."""
    levels = {Severity.ERROR: Level.MANDATORY, Severity.WARNING: Level.ADVISORY}
    for one in fleet.findings:
        if one.severity in levels:
            level = levels[one.severity]
            yield replace(one, level=level, locator=fleet.locator, docs="docs/fleet-spec.md")


def _invalid_exceptions(
    subject: Any,
    found: Mapping[str, Exemption],
    profile: Profile,
    settings: RuleSettings,
) -> Iterator[Finding]:
    """Exceptions that do not count are themselves reported."""
    for rule, exemption in found.items():
        if exemption.problem is not None and rule == exemption.rule:
            yield from invalid_exception(subject.locator, exemption, profile, settings)


def invalid_exception(
    locator: Locator, exemption: Exemption, profile: Profile | None, settings: RuleSettings
) -> Iterator[Finding]:
    """The finding about an exception that does not count, unless the settings turn it off."""
    usual = Level.MANDATORY if profile is Profile.STRICT else Level.ADVISORY
    level = settings.levels.get(EXCEPTION_INVALID, usual)
    if level is Level.OFF:
        return
    yield _note(
        EXCEPTION_INVALID,
        level,
        locator,
        f"docs/policies.md#{EXCEPTION_INVALID}",
        finding(
            where=exemption.place,
            found=f"the exception does not count: {exemption.problem}",
            limit="an exception needs an existing rule, a reason, and a date that is neither past "
            "nor beyond `thresholds.longestWaiverDays`",
            alternative='write "<reason>; until=YYYY-MM-DD", or remove it',
        ),
    )


def _with_one_fix(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of one object; those of one place carry the remedy of the most expensive."""
    best: dict[str, Finding] = {}
    for one in findings:
        if _wasted(one) and one.waiver is None:
            held = best.get(one.path)
            if held is None or _wasted(one) > _wasted(held):
                best[one.path] = one
    return [_without_fix(one, best.get(one.path)) for one in findings]


def _wasted(one: Finding) -> Fraction:
    """GPUs that are wasted; 0 where it is not about waste."""
    money = one.money
    return money.gpus if money is not None and money.kind is AmountKind.WASTE else Fraction(0)


def _without_fix(one: Finding, first: Finding | None) -> Finding:
    if first is None or first is one or not _wasted(one) or one.waiver is not None:
        return one
    return replace(one, fix=f"see {first.code}: it is about the same GPUs", remediation=())
