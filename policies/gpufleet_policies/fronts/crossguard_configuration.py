"""Configuration of the policies as settings: read once for each configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.findings import FleetError
from gpufleet_policies.facts import FleetFacts, Locator
from gpufleet_policies.fronts.referenced_fleet import UnreadableFleetError, referenced_fleet
from gpufleet_policies.fronts.settings_file import settings_alongside
from gpufleet_policies.readers.plain import plain
from gpufleet_policies.rules.context import RuleContext, SameObject
from gpufleet_policies.rules.finding import PolicyFinding
from gpufleet_policies.rules.rule import Level, Violation
from gpufleet_policies.rules.settings import RuleSettings, read_settings


@dataclass
class Configured:
    """One configuration, read once, with the fleet that it refers to."""

    config: Mapping[str, Any]
    settings: RuleSettings
    referenced: FleetFacts | None
    problem: str | None
    """Why configuration or fleet cannot be read; reported with the first object."""
    remediated: frozenset[str]
    """Ids of the rules that fix what they find."""
    contexts: dict[SameObject, RuleContext] = field(default_factory=dict[SameObject, RuleContext])
    """Context of each fleet."""
    stack: tuple[Mapping[str, Any], list[PolicyFinding]] | None = None
    """Facts and findings of the rules that compare resources: both levels report them."""


class Configurations:
    """The configurations of one pack.

    Args:
        folder: Folder of the pack: settings file, and what relative paths in settings start from.

    Raises:
        FleetError: the settings file has wrong settings; ValueError: it is no mapping at all.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base = settings_alongside(folder)
        read_settings(self._base, str(folder))
        self._configured: list[Configured] = []

    def read(self, config: Mapping[str, Any]) -> Configured:
        """A configuration as settings. The SDK copies it: compare by value."""
        for found in self._configured:
            if found.config == config:
                return found
        problem = None
        try:
            settings = read_settings({**self._base, **plain(config)}, "policy configuration")
        except FleetError as wrong:
            settings, problem = read_settings(self._base), str(wrong)
        referenced = None
        try:
            referenced = referenced_fleet(settings.fleet, self._folder)
        except UnreadableFleetError as wrong:
            problem = str(wrong)
        remediated = frozenset(
            rule for rule, level in settings.levels.items() if level is Level.REMEDIATE
        )
        configured = Configured(config, settings, referenced, problem, remediated)
        self._configured.append(configured)
        return configured


def unreadable(locator: Locator, problem: str) -> PolicyFinding:
    """The finding about settings that cannot be read."""
    violation = Violation(
        where="",
        found=f"the policy settings cannot be read: {problem}",
        limit="without them the rules would use other settings than the intended ones",
        alternative="fix the settings",
    )
    return PolicyFinding(
        "policy-settings-unreadable",
        Level.MANDATORY,
        locator,
        violation,
        "",
        "docs/policies.md#settings",
    )
