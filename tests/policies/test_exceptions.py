"""Exceptions count with a rule, a reason and a date that is not past; others are reported."""

from datetime import date, timedelta

import pytest

from gpufleet.cluster.intent import PREFIX
from gpufleet.findings import Level
from gpufleet.findings.waiver import WaiverKind
from gpufleet_policies.rules.exceptions import Exemption, exemption
from gpufleet_policies.rules.registry import RULES
from tests.policies.objects import CONTAINER, TODAY, deployment, findings, fleet, ids, only

RULE = "gpu-idle-command"
IDLE = {f"{CONTAINER}.command": ["sleep", "infinity"]}


def excepted(text, rule=RULE, place="metadata"):
    return deployment({**IDLE, f'{place}.annotations."{PREFIX}ignore-{rule}"': text})


@pytest.mark.parametrize("place", ["metadata", "spec.template.metadata"])
@pytest.mark.parametrize(
    "text",
    ["load test; until=2026-12-31", "until today;until=2026-11-21", "a; b ; until = 2027-01-01"],
)
def test_a_reason_and_a_day_silence_the_rule(text, place):
    assert findings(excepted(text, place=place)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("load test; until=2026-11-20", "its date 2026-11-20 is past (today is 2026-11-21)"),
        ("; until=2026-12-31", "it gives no reason"),
        ("  ; until=2026-12-31", "it gives no reason"),
        ("load test", 'it must read "<reason>; until=YYYY-MM-DD"'),
        ("", 'it must read "<reason>; until=YYYY-MM-DD"'),
        ("load test; until=2026-02-30", "'2026-02-30' is not a date"),
        ("load test; until=soon", "'soon' is not a date"),
    ],
)
def test_what_does_not_count_is_reported_and_silences_nothing(text, problem):
    found = findings(excepted(text))
    assert ids(found) == ["policy-exception-invalid", RULE]
    assert f"the exception does not count: {problem}" in found[0].text
    assert f"{PREFIX}ignore-{RULE}" in found[0].text
    assert found[0].level is Level.ADVISORY


def test_a_misspelt_rule_is_reported():
    found = findings(excepted("test; until=2026-12-31", rule="gpu-idle-comand"))
    assert "there is no rule 'gpu-idle-comand'" in found[0].text


def test_strict_stops_on_a_bad_exception_and_settings_may_say_otherwise():
    found = findings(excepted("x"), settings={"profile": "strict"})
    assert found[0].level is Level.MANDATORY
    settings = {"rules": {"policy-exception-invalid": "off"}}
    assert ids(findings(excepted("x"), settings=settings)) == [RULE]


def test_exceptions_of_the_settings():
    one = {
        "rule": "interactive-pool-holds-large-nodes",
        "object": "GpuFleet f*",
        "reason": "demo week",
        "until": "2026-11-30",
    }
    subject = fleet({"pools[1].nodes.min": 1})
    assert findings(subject, settings={"exceptions": [one]}) == []
    elsewhere = {**one, "object": "GpuFleet other"}
    assert len(findings(subject, settings={"exceptions": [elsewhere]})) == 1
    past = findings(subject, settings={"exceptions": [{**one, "until": date(2026, 11, 1)}]})
    assert ids(past) == ["policy-exception-invalid", "interactive-pool-holds-large-nodes"]
    assert "exceptions of the policy settings for GpuFleet f*" in past[0].text


def test_messages_say_how_to_silence():
    message = only(findings(deployment(IDLE)), RULE).text
    assert f'annotate {PREFIX}ignore-{RULE}: "<reason>; until=YYYY-MM-DD"' in message
    large = findings(fleet({"pools[1].nodes.min": 1}))[0].text
    assert (
        "exceptions` of the policy settings: {rule: interactive-pool-holds-large-nodes, " in large
    )


def test_every_rule_id_fits_into_an_annotation_name():
    assert [r.id for r in RULES if len(r.annotation.split("/")[1]) > 63] == []


def test_a_waiver_that_lasts_too_long_does_not_count():
    last = TODAY + timedelta(days=180)
    longer = last + timedelta(days=1)
    known = {"gpu-idle-command": None}

    def waived(until: date, days: int = 180) -> Exemption:
        text = f"a demo; until={until}"
        return exemption("gpu-idle-command", "x", text, TODAY, known, WaiverKind.ANNOTATION, days)

    assert waived(last).problem is None
    problem = f"its date {longer} is more than 180 days away: {last} is the last one"
    assert waived(longer).problem == problem
    assert waived(longer, 181).problem is None
