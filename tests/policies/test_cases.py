"""The case table through the facts: good objects are silent, bad ones break exactly one rule."""

from string import Formatter

import pytest

from gpufleet_policies.rules.registry import PACK_RULES, by_id
from tests.policies.cases import CASES, Case

BY_RULE = pytest.mark.parametrize("case", CASES, ids=str)


def test_every_rule_has_a_case():
    assert [rule.id for rule in PACK_RULES if rule.id not in {case.rule for case in CASES}] == []


@BY_RULE
def test_the_good_object_is_silent_in_every_profile(case: Case):
    for profile in ("auto", "dev", "prod", "strict"):
        found = case.findings(case.good, profile=profile)
        assert [finding.text for finding in found] == []


@BY_RULE
def test_the_bad_object_breaks_its_rule_only(case: Case):
    found = case.of_the_bad
    assert {finding.code for finding in found} == {case.rule}, [f.text for f in found]
    assert case.says in found[0].text
    assert found[0].level is case.level


@BY_RULE
def test_a_bad_object_stays_bad_beside_nothing_it_needs_or_is_silent(case: Case):
    """Fewer facts give fewer findings, never another one."""
    import dataclasses

    alone = dataclasses.replace(case, alongside=())
    assert {finding.code for finding in alone.findings(case.bad)} <= {case.rule}


@BY_RULE
def test_a_finding_says_what_it_rests_on(case: Case):
    found = next(f for f in case.of_the_bad if f.code == case.rule)
    text = found.text
    assert found.message in text
    assert found.fix
    assert found.as_dict()["evidence"]["level"] == case.level.value
    if found.money is not None:
        rule = by_id()[case.rule]
        assert rule.formula, f"{case.rule} computes money and does not say how"


MORE_IS_KNOWN = {"gpu-not-integer"}
"""Findings about a pod of a declared fleet name the shares that the fleet has."""


@BY_RULE
def test_what_a_finding_advises_is_the_advice_of_its_rule(case: Case):
    """A rule that states its advice uses it: what admission prints is what the audit prints."""
    advice = by_id()[case.rule].advice
    if not advice or case.rule in MORE_IS_KNOWN:
        return
    written = [text for text, *_ in Formatter().parse(advice)]
    said = [found.fix or "" for found in case.of_the_bad if found.code == case.rule]
    assert any(all(text in fix for text in written) for fix in said), (advice, said)
