"""Judging one object with every rule that is on: the same for all fronts."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpufleet_policies.facts import FleetFacts, Locator, Workload
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.exceptions import Exemption, exemptions
from gpufleet_policies.rules.finding import PolicyFinding
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, RULE_FAILED, by_id, judging
from gpufleet_policies.rules.rule import Level, Needs, Profile, Rule, Violation
from gpufleet_policies.rules.settings import Settings, weighed


def judge(
    subject: FleetFacts | Workload,
    context: Context,
    settings: Settings,
    rules: Iterable[Rule] | None = None,
) -> list[PolicyFinding]:
    """Every finding about one object. Never raises: a rule that does becomes an advisory note.

    `rules` narrows the rules; default: all that judge this kind of object.
    """
    chosen = judging(type(subject)) if rules is None else tuple(rules)
    silenced = exemptions(subject, settings.exceptions, context.today, by_id())
    profile = settings.profile_for(context, subject)
    findings: list[PolicyFinding] = []
    if rules is None:
        findings += _invalid_exceptions(subject, silenced.values(), profile, settings)
    for rule in chosen:
        level = settings.level(rule, profile)
        if level is Level.OFF or (Needs.FLEET in rule.needs and context.fleet is None):
            continue
        exemption = silenced.get(rule.id)
        if exemption is not None and exemption.problem is None:
            continue
        findings += _run(rule, level, subject, context)
    return findings


def _run(
    rule: Rule, level: Level, subject: FleetFacts | Workload, context: Context
) -> list[PolicyFinding]:
    try:
        violations = list(rule.check(context, subject))
    except Exception as error:  # noqa: BLE001 - a broken rule must not fail somebody's deployment
        return [_broken(rule, subject.locator, error)]
    return [
        PolicyFinding(
            rule.id,
            weighed(level, rule, violation.provenance, violation.at_most),
            subject.locator,
            violation,
            rule.annotation,
            rule.docs,
        )
        for violation in violations
    ]


def _broken(rule: Rule, locator: Locator, error: Exception) -> PolicyFinding:
    """A note without the error's text: that could quote a secret property."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return PolicyFinding(
        RULE_FAILED,
        Level.ADVISORY,
        locator,
        Violation(
            where="",
            found=f"rule {rule.id} could not judge it: {type(error).__name__}{place}",
            limit=f"the object counts as unjudged by this rule (Python {sys.version_info.major}."
            f"{sys.version_info.minor})",
            alternative="please report it with the object's manifest",
        ),
        "",
        rule.docs,
    )


def _invalid_exceptions(
    subject: FleetFacts | Workload,
    found: Iterable[Exemption],
    profile: Profile,
    settings: Settings,
) -> Iterator[PolicyFinding]:
    """Exceptions that do not count are themselves reported."""
    usual = Level.MANDATORY if profile is Profile.STRICT else Level.ADVISORY
    level = settings.levels.get(EXCEPTION_INVALID, usual)
    if level is Level.OFF:
        return
    for exemption in found:
        if exemption.problem is None:
            continue
        yield PolicyFinding(
            EXCEPTION_INVALID,
            level,
            subject.locator,
            Violation(
                where=exemption.place,
                found=f"the exception does not count: {exemption.problem}",
                limit="an exception needs an existing rule, a reason, and a day that is not past",
                alternative='write "<reason>; until=YYYY-MM-DD", or remove it',
            ),
            "",
            f"docs/policies.md#{EXCEPTION_INVALID}",
        )
