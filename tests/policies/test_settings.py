"""Settings: profiles, levels, all problems at once; a rule that breaks becomes a note."""

from dataclasses import replace

import pytest

from gpufleet.findings import FleetError, Level
from gpufleet.rules.context import RuleContext
from gpufleet.rules.rule import Profile
from gpufleet_policies.configurations.codes import CONFIGURATION_GROUPS
from gpufleet_policies.rules.checked import CONFIG_RULES
from gpufleet_policies.rules.registry import RULES, by_id
from gpufleet_policies.rules.settings import RuleSettings, read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.objects import CONTAINER, TODAY, deployment, findings

IDLE = {f"{CONTAINER}.command": ["sleep", "infinity"]}


def test_levels_of_the_settings_win():
    for level, expected in (("off", []), ("advisory", [Level.ADVISORY])):
        found = findings(deployment(IDLE), settings={"rules": {"gpu-idle-command": level}})
        assert [finding.level for finding in found] == expected


def test_environment_of_the_settings_chooses_the_profile():
    assert read_settings({"profile": "auto"}).profile is None
    assert read_settings({"profile": "strict"}).profile is Profile.STRICT


def test_thresholds():
    nap = deployment({f"{CONTAINER}.command": ["sleep", "600"]})
    assert findings(nap) == []
    assert len(findings(nap, settings={"thresholds": {"idleSleepSeconds": 600}})) == 1


def test_all_problems_at_once():
    with pytest.raises(FleetError) as raised:
        read_settings(
            {
                "profil": "dev",
                "profile": "production",
                "rules": {"gpu-idle-comand": "off", "gpu-idle-command": "on"},
                "exceptions": [{"rule": "x", "object": "", "reason": " ", "until": "2026-13-01"}],
                "thresholds": {"oversizedRatio": -1, "other": 1, "smallestSaving": "much"},
            },
            "gpu-policy.yaml",
        )
    text = str(raised.value)
    assert text.startswith("gpu-policy.yaml: 11 errors")
    for part in (
        "there is no field profil",
        "profile is 'production'",
        "write `gpu-idle-command`",
        "gpu-idle-command is 'on'",
        "exceptions[0].rule: rule is 'x'",
        "exceptions[0].object: names no object, or every one",
        "exceptions[0].reason: is empty",
        "exceptions[0].until: '2026-13-01' is not a date",
        "oversizedRatio is -1, below 0",
        "there is no field other in thresholds",
        "smallestSaving is text ('much'), a number is needed",
    ):
        assert part in text


def test_a_rule_that_breaks_becomes_a_note_without_quoting_values():
    def broken(context, workload):
        raise ValueError("password=hunter2")

    rule = replace(by_id()["gpu-idle-command"], check=broken)
    context = RuleContext(TODAY, load_catalogue=lambda: pytest.fail("not asked"))
    found = validate(deployment(), context, RuleSettings(), [rule])
    assert [finding.code for finding in found] == ["policy-rule-failed"]
    assert found[0].level is Level.ADVISORY
    assert (
        "rule gpu-idle-command could not check the object: ValueError at test_settings.py:"
        in found[0].message
    )
    assert "hunter2" not in found[0].message


def test_rules_are_well_formed():
    faults = [rule for rule in by_id().values() if rule.group]
    assert len(by_id()) == len(RULES) + len(faults)
    assert {rule.id for rule in CONFIG_RULES} <= {rule.id for rule in faults}
    for rule in RULES:
        assert rule.id == rule.id.lower()
        assert rule.sentence.endswith(".")
        assert rule.source
        assert rule.detail or rule in CONFIGURATION_GROUPS
        order = [Level.OFF, Level.ADVISORY, Level.MANDATORY]
        ranks = [order.index(rule.levels[profile]) for profile in Profile]
        assert ranks == sorted(ranks), f"{rule.id}: dev <= prod <= strict"


def test_off_without_quotes_is_off():
    assert read_settings({"rules": {"gpu-idle-command": False}}).levels == {
        "gpu-idle-command": Level.OFF
    }


@pytest.mark.parametrize("named", ["*", "* *", "*/*", "?*"])
def test_a_waiver_of_every_object_is_refused(named: str):
    one = {"rule": "gpu-idle-command", "object": named, "reason": "r", "until": "2026-12-01"}
    with pytest.raises(FleetError, match=r"exceptions\[0\].object: names no object, or every one"):
        read_settings({"exceptions": [one]})
