"""Configuration of the policies as settings of the rules, resolved once before the first resource.

The engine sends a level and properties for every policy: those of `--policy-pack-config` over the
declared ones. A level that differs from the declared one, or comes with a level for all, was chosen
by a user and overrides profile and settings file.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from gpufleet.cluster import FleetFacts
from gpufleet.cluster.fleet import PRODUCTION
from gpufleet.findings import Finding, FleetError, Level
from gpufleet.rules.context import RuleContext, SameObject
from gpufleet.rules.rule import Profile
from gpufleet_policies.fronts.crossguard_policies import SETTINGS, declared_levels
from gpufleet_policies.fronts.referenced_fleet import UnreadableFleetError, referenced_fleet
from gpufleet_policies.fronts.settings_file import settings_of_pack
from gpufleet_policies.names import names
from gpufleet_policies.readers.plain import plain
from gpufleet_policies.rules.registry import by_id
from gpufleet_policies.rules.settings import RuleSettings, read_settings

SETTINGS_UNREADABLE = "policy-settings-unreadable"
"""Code of the finding about settings, or names of policies, that cannot be used."""

SETTINGS_MISSING = "policy-settings-missing"
"""Code of the note that the settings file is missing or empty, and the safe settings hold."""

PACK_OFF = "policy-pack-off"
"""Code of the finding that every policy is disabled."""

PolicyConfig = Mapping[str, tuple[Level, Mapping[str, Any]]]
"""Name of a policy -> its level and properties, as the engine sends them."""

_OTHER_ENVIRONMENTS = frozenset(names("environment besides production"))
"""Words in the name of a stack that mark it as not production."""


@dataclass(frozen=True, slots=True)
class ConfigurationNote:
    """Errors and deprecated keys of the configuration."""

    code: str
    level: Level
    message: str


@dataclass
class Configured:
    """The configuration in force, with the fleet that it refers to."""

    settings: RuleSettings
    referenced: FleetFacts | None
    notes: tuple[ConfigurationNote, ...]
    """Reported with the first resource."""
    is_off: bool = False
    """Whether every policy is disabled."""
    contexts: dict[SameObject, RuleContext] = field(default_factory=dict[SameObject, RuleContext])
    """Context of each fleet."""
    stack: tuple[Mapping[str, Any], list[Finding]] | None = None
    """Facts and findings of the rules that compare resources."""

    @property
    def remediated(self) -> frozenset[str]:
        """Ids of the rules that fix what they find."""
        levels = self.settings.levels.items()
        return frozenset(rule for rule, level in levels if level is Level.REMEDIATE)


class Configurations:
    """Declared levels of a pack, and the settings from a configuration.

    Args:
        folder: Folder of the pack: settings file, and base of relative paths in settings.

    Raises:
        FleetError: the settings file has wrong settings; ValueError: it is not a mapping.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base, self._missing = settings_of_pack(folder)
        self.settings = read_settings(self._with_environment(self._base, ""), str(folder))
        """Those of the folder: what the policies declare."""
        self.levels = declared_levels(self.settings, _profile(self.settings))
        """Rule id -> declared level."""

    def resolved(self, config: PolicyConfig, stack: str = "") -> Configured:
        """The settings that a configuration makes. Wrong ones are a note; those of the folder then
        hold."""
        choice = _Choice(config, self.levels)
        notes = list(choice.notes())
        data = dict(self._base)
        data.update(plain(dict(config.get(SETTINGS, (Level.OFF, {}))[1])))
        if self._missing and data == self._base:
            notes.append(ConfigurationNote(SETTINGS_MISSING, Level.ADVISORY, self._missing))
        data = dict(self._with_environment(data, stack))
        if choice.levels:
            rules: Any = data.get("rules")
            written = cast("Mapping[str, Any]", rules if isinstance(rules, Mapping) else {})
            chosen = {rule: level.value for rule, level in choice.levels.items()}
            data["rules"] = {**written, **chosen}
        referenced = None
        try:
            settings = read_settings(data, "policy configuration")
            referenced = referenced_fleet(settings.fleet, self._folder)
        except FleetError as wrong:
            settings = self.settings
            notes.append(_unreadable(str(wrong)))
        except UnreadableFleetError as wrong:
            settings = read_settings(data)
            notes.append(_unreadable(str(wrong)))
        is_off = choice.is_off or settings.is_off
        if is_off:
            notes.append(_everything_off(settings.everything_off))
        return Configured(settings, referenced, tuple(notes), is_off)

    def _with_environment(self, data: Mapping[str, Any], stack: str) -> Mapping[str, Any]:
        """Settings with the environment of the stack's name, where none is written."""
        if data.get("environment") is not None:
            return data
        found = environment_of_stack(stack or os.environ.get("PULUMI_STACK", ""))
        return data if found is None else {**data, "environment": found}


class _Choice:
    """The levels that a user chose, of those that the engine sends."""

    def __init__(self, config: PolicyConfig, declared: Mapping[str, Level]) -> None:
        self._config = config
        given = {rule: config[rule][0] for rule in declared if rule in config}
        self.levels = (
            {rule: level for rule, level in given.items() if level is not declared[rule]}
            if _level_for_all(given, declared) is None
            else given
        )
        self.is_off = bool(given) and set(given.values()) == {Level.OFF}

    def notes(self) -> Iterator[ConfigurationNote]:
        """Names that do not exist."""
        known = {*by_id(), SETTINGS, "all"}
        for name in self._config:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"; write {near[0]}" if near else "; see `gpufleet policies rules`"
                yield _unreadable(f"there is no policy {name!r}{hint}")


def _level_for_all(given: Mapping[str, Level], declared: Mapping[str, Level]) -> Level | None:
    """The level that `all` was given; None: levels were given one by one, or not at all."""
    for level in Level:
        others = [rule for rule in given if declared[rule] is not level]
        if others and 2 * sum(given[rule] is level for rule in others) > len(others):
            return level
    return None


def environment_of_stack(name: str) -> str | None:
    """The environment in a stack's name: `prod` of `acme/prod-eu`; None: none."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    if {"non", "pre"} & set(words):
        return "nonprod"
    for known in (PRODUCTION, _OTHER_ENVIRONMENTS):
        for word in words:
            if word in known:
                return word
    return None


def _profile(settings: RuleSettings) -> Profile:
    if settings.profile is not None:
        return settings.profile
    named = settings.environment
    return Profile.PROD if named is not None and named.lower() in PRODUCTION else Profile.DEV


def _everything_off(reason: str) -> ConfigurationNote:
    """A run that checks nothing must not look like one that found nothing."""
    if reason:
        return ConfigurationNote(
            PACK_OFF, Level.ADVISORY, f"every policy is disabled, so nothing is checked: {reason}"
        )
    return ConfigurationNote(
        PACK_OFF,
        Level.MANDATORY,
        "every policy is disabled, so nothing is checked; turn rules on by their names, such as "
        '{"all": "disabled", "gpu-idle-command": "mandatory"}, or state why all are off:  '
        f'{{"all": "disabled", "{SETTINGS}": {{"everythingOff": "<reason>"}}}}',
    )


def _unreadable(problem: str) -> ConfigurationNote:
    message = f"the policy settings cannot be used: {problem}"
    return ConfigurationNote(SETTINGS_UNREADABLE, Level.MANDATORY, message)
