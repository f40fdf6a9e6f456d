"""The policies as Pulumi lists them: one for each rule and one for the settings."""

from collections.abc import Iterator, Mapping
from typing import Any

from pulumi.runtime.proto import analyzer_pb2 as protocol

from gpufleet.findings import Level
from gpufleet.rules.rule import Needs, Profile, Rule
from gpufleet_policies.rules.registry import RULES
from gpufleet_policies.rules.settings import RuleSettings, settings_schema

SETTINGS = "gpufleet-settings"
"""Name of the policy that holds the shared settings and reports their errors."""

TO_WIRE = {
    Level.OFF: protocol.DISABLED,
    Level.ADVISORY: protocol.ADVISORY,
    Level.MANDATORY: protocol.MANDATORY,
    Level.REMEDIATE: protocol.REMEDIATE,
}
FROM_WIRE = {wire: level for level, wire in TO_WIRE.items()}

_SEVERITIES = {
    Profile.DEV: protocol.POLICY_SEVERITY_HIGH,
    Profile.PROD: protocol.POLICY_SEVERITY_MEDIUM,
    Profile.STRICT: protocol.POLICY_SEVERITY_LOW,
}
"""The mildest profile in which a rule stops a deployment -> its severity."""


def severity(rule: Rule) -> Any:
    """High where it stops in every profile, low where it stops in none, or only in `strict`."""
    for profile in Profile:
        if rule.levels[profile] is Level.MANDATORY:
            return _SEVERITIES[profile]
    return protocol.POLICY_SEVERITY_LOW


def declared_levels(settings: RuleSettings, profile: Profile) -> dict[str, Level]:
    """Rule id -> its level without configuration of its policy."""
    return {rule.id: settings.level(rule, profile) for rule in RULES}


def policy_infos(levels: Mapping[str, Level]) -> Iterator[protocol.PolicyInfo]:
    """Every policy of the pack."""
    yield _settings_info()
    for rule in RULES:
        yield _rule_info(rule, levels[rule.id])


def _rule_info(rule: Rule, level: Level) -> protocol.PolicyInfo:
    return protocol.PolicyInfo(
        name=rule.id,
        displayName=rule.id.replace("-", " "),
        description=rule.sentence,
        enforcementLevel=TO_WIRE[level],
        policy_type=(
            protocol.POLICY_TYPE_STACK
            if Needs.SURROUNDINGS in rule.needs
            else protocol.POLICY_TYPE_RESOURCE
        ),
        severity=severity(rule),
        tags=["gpu", "cost" if rule.formula else "correctness", rule.family],
        remediation_steps=(
            "Do what the finding names after `instead:`. To keep a finding for a while, annotate "
            f'the object {rule.annotation}: "<reason>; until=YYYY-MM-DD". See {rule.docs}.'
        ),
    )


def _settings_info() -> protocol.PolicyInfo:
    info = protocol.PolicyInfo(
        name=SETTINGS,
        displayName="gpufleet settings",
        description="Settings of all rules, given once; reports their errors.",
        enforcementLevel=protocol.MANDATORY,
        policy_type=protocol.POLICY_TYPE_RESOURCE,
        severity=protocol.POLICY_SEVERITY_HIGH,
        tags=["gpu", "settings"],
    )
    info.configSchema.properties.update(settings_schema())
    return info
