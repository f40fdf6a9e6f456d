"""The configuration of the CrossGuard policies: one for each rule, and shared settings."""

from pathlib import Path

import pytest
from pulumi.runtime.proto import analyzer_pb2

from gpufleet_policies.fronts.crossguard_configuration import environment_of_stack
from gpufleet_policies.fronts.crossguard_policies import SETTINGS
from gpufleet_policies.rules.registry import RULES, by_id
from gpufleet_policies.rules.settings import THRESHOLDS, settings_schema
from tests.policies.objects import CONTAINER, DEPLOYMENT, changed, summary
from tests.policies.test_crossguard import (
    ADVISORY,
    DEPLOYMENT_TYPE,
    FLEET,
    IDLE,
    MANDATORY,
    WASTEFUL,
    WIRE,
    Host,
    levels,
    request,
)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_there_is_a_policy_for_each_rule(host: Host):
    assert set(host.infos) == {rule.id for rule in RULES} | {SETTINGS}
    for rule in RULES:
        info = host.infos[rule.id]
        assert info.description == rule.sentence
        assert info.severity in (1, 2, 3)
        assert rule.annotation in info.remediation_steps
        assert info.policy_type in (1, 2)
    settings = dict(host.infos[SETTINGS].configSchema.properties)
    assert set(settings) == set(settings_schema())
    assert all(one["description"] for one in settings.values())
    assert set(settings["rules"]["properties"]) >= {rule.id for rule in RULES}
    assert set(settings["thresholds"]["properties"]) == set(THRESHOLDS)


def test_one_rule_on_and_all_others_off(host: Host):
    host.configure_policies({"all": "disabled", "gpu-idle-command": "mandatory"})
    both = changed(WASTEFUL, {f"{CONTAINER}.command": ["sleep", "infinity"]})
    assert host.analyze(FLEET, summary({"pools[2].nodes.min": 1})) == {}
    assert host.analyze(DEPLOYMENT_TYPE, both) == {"gpu-idle-command": MANDATORY}
    assert host.analyze_stack() == {}


def test_the_level_of_a_policy_wins_over_profile_and_file(tmp_path: Path):
    (tmp_path / "gpu-policy.yaml").write_text("profile: prod\nrules: {gpu-idle-command: 'off'}\n")
    host = Host(tmp_path)
    assert host.infos["gpu-idle-command"].enforcementLevel == WIRE["disabled"]
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {}
    host.configure_policies({"gpu-idle-command": "advisory"})
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": ADVISORY}
    host.configure_policies({"all": "mandatory"})
    assert host.analyze(DEPLOYMENT_TYPE, IDLE)["gpu-idle-command"] == MANDATORY


def test_a_threshold_of_the_settings_wins_over_the_file(tmp_path: Path):
    (tmp_path / "gpu-policy.yaml").write_text("thresholds: {idleSleepSeconds: 900}\n")
    host = Host(tmp_path)
    nap = changed(DEPLOYMENT, {f"{CONTAINER}.command": ["sleep", "600"]})
    host.configure_policies({})
    assert host.analyze(DEPLOYMENT_TYPE, nap) == {}, "defaults of schemas are those of the file"
    host.configure_policies({"gpufleet-settings": {"thresholds": {"idleSleepSeconds": 600}}})
    assert host.analyze(DEPLOYMENT_TYPE, nap) == {"gpu-idle-command": ADVISORY}


def test_a_pack_that_is_off_says_so_once(host: Host):
    host.configure_policies({"all": "disabled"})
    assert host.analyze("random:index:RandomId", {}) == {"policy-pack-off": MANDATORY}
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {}
    assert host.analyze_stack() == {}


def test_a_pack_that_is_off_for_a_reason_does_not_stop(host: Host):
    host.configure_policies(
        {"all": "disabled", "gpufleet-settings": {"everythingOff": "the move to the new cluster"}}
    )
    response = host.servicer.Analyze(request("random:index:RandomId", {}, "r"), None)
    assert levels(response) == {"policy-pack-off": ADVISORY}
    assert "the move to the new cluster" in response.diagnostics[0].message
    host.configure_policies({"gpufleet-settings": {"everythingOff": "not off at all"}})
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": ADVISORY}


def test_a_pack_that_other_words_turn_off_says_so_too(host: Host):
    everything = dict.fromkeys(by_id(), "off")
    host.configure_policies({"gpufleet-settings": {"rules": everything}})
    assert host.analyze("random:index:RandomId", {}) == {"policy-pack-off": MANDATORY}


def test_a_misspelt_policy_stops_and_is_named(host: Host):
    host.configure_policies({"all": "disabled", "gpu-idle-comand": "mandatory"})
    response = host.servicer.Analyze(request("random:index:RandomId", {}, "r"), None)
    assert levels(response)["policy-settings-unreadable"] == MANDATORY
    assert any("write gpu-idle-command" in one.message for one in response.diagnostics)


@pytest.mark.parametrize(
    ("stack", "environment", "level"),
    [
        ("acme/prod-eu", "prod", MANDATORY),
        ("pre-prod", "nonprod", ADVISORY),
        ("eu", None, ADVISORY),
    ],
)
def test_the_environment_comes_from_the_name_of_the_stack(
    host: Host, stack: str, environment: str | None, level: int
):
    assert environment_of_stack(stack) == environment
    sent = analyzer_pb2.AnalyzerStackConfigureRequest(stack=stack)
    host.servicer.ConfigureStack(sent, None)
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": level}
    host.configure(environment="dev")
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": ADVISORY}
