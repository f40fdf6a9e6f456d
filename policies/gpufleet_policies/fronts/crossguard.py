"""CrossGuard front: judges resources while the Pulumi engine previews or updates.

One Pulumi policy per enforcement level; each dispatches to the rules that the settings assign to
its level. One policy per rule would cost each resource a conversion of its properties per rule.

Workloads are judged with the pools of the GpuFleet of the same program. One that is registered
before its GpuFleet waits and is judged, and reported, with it; either way before the fleet's first
child exists. For a fleet of another program see `told_fleet`.
"""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)

from gpufleet.catalogue import load
from gpufleet.findings import FleetError
from gpufleet_policies.adapters.plain import plain
from gpufleet_policies.adapters.pulumi_props import from_pulumi_props, is_judged
from gpufleet_policies.facts import FleetFacts, Locator, Workload, absent, known
from gpufleet_policies.fronts.config_schema import schema_properties
from gpufleet_policies.fronts.told_fleet import UnreadableFleetError, told_fleet
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.finding import PolicyFinding
from gpufleet_policies.rules.judge import judge
from gpufleet_policies.rules.registry import judging
from gpufleet_policies.rules.rule import Level, Needs, Violation
from gpufleet_policies.rules.settings import Settings, read_settings

PACK_NAME = "gpufleet"
SETTINGS_FILES = ("gpu-policy.yaml", "gpu-policy.json")
"""Settings beside the pack's `__main__.py`; a policy's own configuration wins over them."""

LEVELS = (Level.MANDATORY, Level.ADVISORY)
"""The mandatory policy comes first: it judges, and the advisory one reports the rest."""


def _utc_today() -> date:
    return datetime.now(UTC).date()


@dataclass
class _Program:
    """What was seen of the program that is judged. Guarded by `lock`: the host has four threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    fleets: dict[str, FleetFacts] = field(default_factory=dict[str, FleetFacts])
    """By URN."""
    waiting: dict[str, Workload] = field(default_factory=dict[str, Workload])
    """Workloads seen before any fleet, by URN."""


@dataclass
class _Configured:
    """One configuration, read once, with the fleet it tells of."""

    config: Mapping[str, Any]
    settings: Settings
    told: FleetFacts | None
    problem: str | None
    """Why configuration or fleet cannot be read; reported with the first object judged."""


class Front:
    """The policies of one pack process.

    Args:
        folder: Folder of the pack: settings file, and what relative paths in settings start from.
        today: The clock, UTC.

    Raises:
        FleetError: the settings file has wrong settings; ValueError or yaml.YAMLError: it is no
            mapping at all.
    """

    def __init__(
        self,
        folder: Path,
        *,
        today: Callable[[], date] = _utc_today,
    ) -> None:
        self._folder = folder
        self._today = today
        self._base = _settings_file(folder)
        read_settings(self._base, str(folder))
        self._program = _Program()
        self._configured: list[_Configured] = []
        self._here = threading.local()

    def policies(self) -> list[Policy]:
        """One resource policy per enforcement level."""
        return [self._policy(level) for level in LEVELS]

    def _policy(self, level: Level) -> ResourceValidationPolicy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            if not is_judged(args.resource_type):
                return
            for finding in self._findings(args, level):
                if finding.level is level:
                    report(finding.message, None)

        return ResourceValidationPolicy(
            name=f"{PACK_NAME}-{level.value}",
            description=_DESCRIPTIONS[level],
            validate=validate,
            enforcement_level=EnforcementLevel(level.value),
            config_schema=PolicyConfigSchema(schema_properties()),
        )

    def _findings(self, args: ResourceValidationArgs, level: Level) -> list[PolicyFinding]:
        """Judged once for both levels: within one call they follow each other in one thread.

        A policy with another configuration than the one before judges for itself.
        """
        configured = self._read(args.get_config())
        if level is not LEVELS[0]:
            stored = getattr(self._here, "judged", None)
            self._here.judged = None
            if stored is not None and stored[0] == args.urn and stored[1] is configured:
                return stored[2]
        findings = self._judge(args, configured)
        self._here.judged = (args.urn, configured, findings)
        return findings

    def _judge(self, args: ResourceValidationArgs, configured: _Configured) -> list[PolicyFinding]:
        facts = from_pulumi_props(args.resource_type, args.props, args.name, args.urn, load)
        if facts is None:
            return []
        findings: list[PolicyFinding] = []
        if configured.problem is not None:
            findings.append(_unreadable(facts.locator, configured.problem))
            configured.problem = None
        if isinstance(facts, FleetFacts):
            return findings + self._judge_fleet(facts, configured)
        if not facts.uses_gpus:
            return findings
        context = self._context(self._fleet_for(facts, configured), configured)
        return findings + judge(facts, context, configured.settings)

    def _judge_fleet(self, fleet: FleetFacts, configured: _Configured) -> list[PolicyFinding]:
        with self._program.lock:
            self._program.fleets[fleet.locator.urn] = fleet
            waiting = list(self._program.waiting.values())
            alone = len(self._program.fleets) == 1
        context = self._context(fleet, configured)
        findings = judge(fleet, context, configured.settings)
        if alone and configured.settings.fleet is None:
            rules = [rule for rule in judging(Workload) if Needs.FLEET in rule.needs]
            for workload in waiting:
                findings += judge(workload, context, configured.settings, rules)
        return findings

    def _fleet_for(self, workload: Workload, configured: _Configured) -> FleetFacts | None:
        """The pools a workload may run on: those told of, else the program's only GpuFleet."""
        if configured.settings.fleet is not None:
            return configured.told
        with self._program.lock:
            fleets = list(self._program.fleets.values())
            if not fleets and configured.told is None:
                self._program.waiting[workload.locator.urn] = workload
        if len(fleets) > 1:
            return None  # on which of the clusters the workload runs cannot be told
        return fleets[0] if fleets else configured.told

    def _context(self, fleet: FleetFacts | None, configured: _Configured) -> Context:
        named = configured.settings.environment
        return Context(
            today=self._today(),
            load_catalogue=partial(load, fleet.catalogue) if fleet is not None else load,
            fleet=fleet,
            environment=absent("environment") if named is None else known(named),
            thresholds=configured.settings.thresholds,
        )

    def _read(self, config: Mapping[str, Any]) -> _Configured:
        """A configuration as settings. The SDK hands out a new copy each time: compare, not id."""
        for found in self._configured:
            if found.config == config:
                return found
        problem = None
        try:
            settings = read_settings({**self._base, **plain(config)}, "policy configuration")
        except FleetError as wrong:
            settings, problem = read_settings(self._base), str(wrong)
        told = None
        try:
            told = told_fleet(settings.fleet, self._folder)
        except UnreadableFleetError as wrong:
            problem = str(wrong)
        configured = _Configured(config, settings, told, problem)
        self._configured.append(configured)
        return configured


def _unreadable(locator: Locator, problem: str) -> PolicyFinding:
    violation = Violation(
        where="",
        found=f"the policy settings cannot be read: {problem}",
        limit="without them the rules would judge by something else than was meant",
        alternative="mend the settings",
    )
    return PolicyFinding(
        "policy-settings-unreadable",
        Level.MANDATORY,
        locator,
        violation,
        "",
        "docs/policies.md#settings",
    )


_DESCRIPTIONS = {
    Level.MANDATORY: "GPU waste or impossibility that must not be deployed",
    Level.ADVISORY: "GPU waste worth knowing",
}


def _settings_file(folder: Path) -> Mapping[str, Any]:
    """The settings beside the pack, empty without a file.

    Raises ValueError when the file is no mapping, yaml.YAMLError when it is no YAML.
    """
    for name in SETTINGS_FILES:
        path = folder / name
        if path.is_file():
            import yaml

            found = yaml.safe_load(path.read_text(encoding="utf-8"))
            if found is None:
                return {}
            if not isinstance(found, dict):
                raise ValueError(
                    f"{path}: must be a mapping of settings, found {type(found).__name__}"
                )
            return found
    return {}


def start(folder: Path | str) -> None:
    """Serve the pack. Only `__main__.py` of a pack folder calls this: it never returns.

    Nothing may be written to standard output before: the engine reads the port from its first line.
    """
    from pulumi_policy import PolicyPack

    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    PolicyPack(PACK_NAME, list(Front(Path(folder)).policies()))
