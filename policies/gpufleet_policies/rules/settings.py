"""Settings of the rules: one format for all integrations, with all problems reported at once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from gpufleet.cluster import Provenance
from gpufleet.documents.shapes import is_mapping, items, mapping, rewritten
from gpufleet.findings import FleetError, Level, error
from gpufleet.rules.context import EnvironmentBudget, RuleContext, Thresholds
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.readers.blocks import camel
from gpufleet_policies.rules.exceptions import SettledException
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, all_rules, by_id

AUTO = "auto"
"""Profile by environment: prod in production, dev elsewhere."""

_NUMBERS = (int, Decimal, Decimal | None)
THRESHOLDS = {camel(f.name): f.name for f in fields(Thresholds) if f.type in _NUMBERS}
_WHOLE = frozenset(one.name for one in fields(Thresholds) if one.type is int)
"""Thresholds that are counts."""


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """A project's settings of the rules."""

    profile: Profile | None = None
    """None: by environment."""
    environment: str | None = None
    """Environment of the checked program, for objects that do not declare theirs."""
    levels: Mapping[str, Level] = field(default_factory=dict[str, Level])
    """Rule id -> level, over the profile's."""
    exceptions: tuple[SettledException, ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)
    fleet: Any = None
    """The pools of workloads whose GpuFleet is in another program: a path or plain data."""
    asked_for: frozenset[str] = frozenset()
    """Rules that a command names one by one: advisory where their level is off."""
    clusters: tuple[str, ...] = ()
    """Patterns of folders; the files below each folder that matches are one cluster."""
    everything_off: str = ""
    """Why no rule is on, where that is meant; empty: it would be a mistake."""

    @property
    def is_off(self) -> bool:
        """Whether no rule is on in any profile that may apply."""
        profiles = tuple(Profile) if self.profile is None else (self.profile,)
        return all(
            self.level(rule, profile) is Level.OFF for rule in all_rules() for profile in profiles
        )

    def level(self, rule: Rule, profile: Profile) -> Level:
        """The level of a rule in a profile, before the evidence is considered."""
        usual = rule.levels[profile]
        level = self.levels.get(rule.id) or usual
        if rule.id not in self.levels and usual is not Level.OFF:
            level = self.levels.get(rule.group, usual)
        return Level.ADVISORY if level is Level.OFF and rule.id in self.asked_for else level

    def profile_for(self, context: RuleContext, subject: Any) -> Profile:
        """The profile that applies to one object. Where the environment is unknown: dev."""
        if self.profile is not None:
            return self.profile
        return Profile.PROD if context.is_production(subject) else Profile.DEV


def weighted(level: Level, rule: Rule, evidence: Provenance, at_most: Level) -> Level:
    """A level after the evidence: weaker than the rule needs, or capped, means advisory."""
    weak = evidence < rule.mandatory_needs or at_most is not Level.MANDATORY
    return Level.ADVISORY if level is Level.MANDATORY and weak else level


def settings_schema() -> dict[str, Any]:
    """Setting -> its JSON schema. Properties have no defaults: the Pulumi engine would send them as
    if a person had written them, over those of the settings file."""
    found = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    levels = {"type": "string", "enum": [level.value for level in Level]}
    found["profile"]["enum"] = [AUTO, *(profile.value for profile in Profile)]
    found["rules"]["properties"] = dict.fromkeys((*by_id(), EXCEPTION_INVALID), levels)
    found["exceptions"]["items"]["properties"]["rule"]["enum"] = list(by_id())
    return found


def read_settings(data: Mapping[str, Any], origin: str = "policy settings") -> RuleSettings:
    """Settings from plain data. Raises FleetError with every problem at once."""
    if not data:
        return RuleSettings()
    from gpufleet.contract.schemas.validator import part_problems

    written: dict[str, Any] = rewritten(
        dict(data), lambda one: one.isoformat() if isinstance(one, date) else one
    )
    if is_mapping(levels := written.get("rules")):  # `off` without quotes, as YAML reads it
        written["rules"] = {
            rule: "off" if one is False else one for rule, one in levels.items() if one is not None
        }
    schema = {
        "type": "object",
        "properties": settings_schema(),
        "additionalProperties": False,
    }
    problems = part_problems(f"settings {hash(tuple(by_id()))}", schema, written)
    if problems:
        found = (error("policy-setting-invalid", p.path, p.message, p.fix) for p in problems)
        raise FleetError(found, origin)
    profile = written.get("profile") or AUTO
    return RuleSettings(
        None if profile == AUTO else Profile(profile),
        written.get("environment"),
        {rule: Level(level) for rule, level in mapping(written.get("rules")).items()},
        tuple(
            SettledException(
                one["rule"], one["object"], one["reason"], date.fromisoformat(one["until"])
            )
            for one in items(written.get("exceptions"))
        ),
        Thresholds(
            budgets={
                str(environment).lower(): EnvironmentBudget(
                    *(_amount(mapping(amounts).get(key)) for key in _BUDGET_KEYS)
                )
                for environment, amounts in mapping(written.get("budgets")).items()
            },
            owner_tags=tuple(items(written.get("ownerTags"))),
            **_thresholds(mapping(written.get("thresholds"))),
        ),
        data.get("fleet"),
        clusters=tuple(items(written.get("clusters"))),
        everything_off=written.get("everythingOff") or "",
    )


_BUDGET_KEYS = ("standingUsdPerMonth", "exposureUsdPerHour")
"""Keys of a budget, in the order of `EnvironmentBudget`."""


def _amount(number: Any) -> Decimal | None:
    return None if number is None else Decimal(str(number))


def _thresholds(written: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {THRESHOLDS[key]: _amount(number) for key, number in written.items()}
    return {
        name: int(number) if name in _WHOLE else number
        for name, number in chosen.items()
        if number is not None
    }
