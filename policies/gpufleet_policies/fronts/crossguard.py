"""CrossGuard integration: checks resources while the Pulumi engine previews or updates.

One Pulumi policy per enforcement level; each dispatches to the rules that the settings assign to
its level. One policy per rule would cost each resource a conversion of its properties per rule.
Rules that compare resources run when all resources are known, in one stack policy per level, on
the inputs of the resources: during a preview, the outputs that a stack policy gets lack whole
objects.

Workloads are checked with the pools of the GpuFleet of the same program. A workload that is
registered before its GpuFleet waits, and is checked and reported with the fleet. Both happen before
the fleet's first child exists. For a fleet of another program see `referenced_fleet`.
"""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from gpufleet.catalogue import load
from gpufleet_policies.facts import FleetFacts, Surroundings, WorkloadFacts, absent, known
from gpufleet_policies.fronts.config_schema import schema_properties
from gpufleet_policies.fronts.crossguard_configuration import (
    Configurations,
    Configured,
    unreadable,
)
from gpufleet_policies.fronts.crossguard_remediation import remediated
from gpufleet_policies.readers.pulumi_props import facts_from_pulumi, is_validated
from gpufleet_policies.rules.context import RuleContext, SameObject
from gpufleet_policies.rules.finding import PolicyFinding
from gpufleet_policies.rules.registry import validating
from gpufleet_policies.rules.rule import Level, Needs, Rule
from gpufleet_policies.rules.validate import validate as run_rules

PACK_NAME = "gpufleet"
REMEDIATION = f"{PACK_NAME}-remediate"
"""Name of the policy that fixes."""

LEVELS = (Level.MANDATORY, Level.ADVISORY)
"""The mandatory policy comes first and runs the rules; the advisory policy reuses the findings."""


def _utc_today() -> date:
    return datetime.now(UTC).date()


@dataclass
class _Program:
    """Known resources of the checked program. Guarded by `lock`: the host has four threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    fleets: dict[str, FleetFacts] = field(default_factory=dict[str, FleetFacts])
    """By URN."""
    waiting: dict[str, WorkloadFacts] = field(default_factory=dict[str, WorkloadFacts])
    """Workloads seen before any fleet, by URN."""
    facts: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    """All facts of the program's resources, by URN."""
    reported: set[tuple[str, str, Level]] = field(default_factory=set[tuple[str, str, Level]])
    """Rule, URN and level of the findings that resource policies reported."""


@cache
def across(subject: type) -> tuple[Rule, ...]:
    """Rules about one type of facts that compare resources, or see more when all are known.

    A pool whose machines a launch template declares is not known before. Fleets and workloads are.
    """
    compares = {Needs.SURROUNDINGS, Needs.POOLS}
    if subject not in (FleetFacts, WorkloadFacts):
        return validating(subject)
    return tuple(rule for rule in validating(subject) if rule.sees_pools or compares & rule.needs)


def _left(subject: type, fleet: FleetFacts | None) -> tuple[Rule, ...]:
    """Rules that did not run yet: with a fleet, the pools were known for each resource."""
    rules = across(subject)
    if fleet is None or subject is not WorkloadFacts:
        return rules
    return tuple(rule for rule in rules if Needs.SURROUNDINGS in rule.needs)


class Front:
    """The policies of one pack process.

    Args:
        folder: Folder of the pack: settings file, and what relative paths in settings start from.
        today: The clock, UTC.

    Raises:
        FleetError: the settings file has wrong settings; ValueError: it is no mapping at all.
    """

    def __init__(
        self,
        folder: Path,
        *,
        today: Callable[[], date] = _utc_today,
    ) -> None:
        self._today = today
        self._configurations = Configurations(folder)
        self._program = _Program()
        self._here = threading.local()

    def policies(self) -> list[Policy]:
        """A resource policy and a stack policy per level that reports, and one that remediates."""
        return [
            self._remediation(),
            *(self._policy(level) for level in LEVELS),
            *(self._stack_policy(level) for level in LEVELS),
        ]

    def _remediation(self) -> ResourceValidationPolicy:
        """Fixes findings of rules at level `remediate`; the mandatory policy reports the others.

        It has no check of its own: that would convert every resource's properties once more.
        """

        def remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
            if not is_validated(args.resource_type):
                return None
            configured = self._configurations.read(args.get_config())
            if not configured.remediated:
                return None
            operations = self._operations(args, configured)
            return remediated(args.props, operations) if operations else None

        return ResourceValidationPolicy(
            name=REMEDIATION,
            description="GPU waste that the policy fixes",
            remediate=remediate,  # type: ignore[arg-type]  the SDK means one or the other
            enforcement_level=EnforcementLevel.REMEDIATE,
            config_schema=PolicyConfigSchema(schema_properties()),
        )

    def _operations(
        self, args: ResourceValidationArgs, configured: Configured
    ) -> list[Mapping[str, Any]]:
        found = facts_from_pulumi(args.resource_type, args.props, args.name, args.urn, load)
        operations: list[Mapping[str, Any]] = []
        for facts in found:
            fleet = None if isinstance(facts, FleetFacts) else configured.referenced
            kind: type = facts.__class__
            rules = [rule for rule in validating(kind) if rule.id in configured.remediated]
            for finding in run_rules(
                facts, self._context(fleet, configured), configured.settings, rules
            ):
                if finding.level is Level.MANDATORY:
                    operations += finding.remediation
        return operations

    def _stack_policy(self, level: Level) -> StackValidationPolicy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            configured = self._configurations.read(args.get_config())
            for finding in self._validate_stack(configured):
                if finding.level is level:
                    report(finding.message, finding.locator.urn or None)

        return StackValidationPolicy(
            name=f"{PACK_NAME}-stack-{level.value}",
            description=f"{_DESCRIPTIONS[level]}, across resources",
            validate=validate,
            enforcement_level=EnforcementLevel(level.value),
            config_schema=PolicyConfigSchema(schema_properties()),
        )

    def _validate_stack(self, configured: Configured) -> list[PolicyFinding]:
        """Rules that need the whole program, on every resource seen; once for all levels."""
        with self._program.lock:
            seen = dict(self._program.facts)
            reported = set(self._program.reported)
            fleets = list(self._program.fleets.values())
        if configured.stack is not None and configured.stack[0] == seen:
            return configured.stack[1]
        everything = tuple(facts for urn in sorted(seen) for facts in seen[urn])
        fleet = configured.referenced or (fleets[0] if len(fleets) == 1 else None)
        context = replace(
            self._context(fleet, configured), surroundings=Surroundings(everything), memo={}
        )
        findings = [
            finding
            for facts in everything
            if (rules := _left(facts.__class__, fleet))
            for finding in run_rules(facts, context, configured.settings, rules)
            if (finding.rule, finding.locator.urn, finding.level) not in reported
        ]
        configured.stack = (seen, findings)
        return findings

    def _policy(self, level: Level) -> ResourceValidationPolicy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            if not is_validated(args.resource_type):
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
        """The rules run once for both levels, whose policies run one after the other in one thread.

        A policy with another configuration than the first policy runs the rules again.
        """
        configured = self._configurations.read(args.get_config())
        if level is not LEVELS[0]:
            stored = getattr(self._here, "validated", None)
            self._here.validated = None
            if stored is not None and stored[0] == args.urn and stored[1] is configured:
                return stored[2]
        findings = self._validate(args, configured)
        self._here.validated = (args.urn, configured, findings)
        return findings

    def _validate(
        self, args: ResourceValidationArgs, configured: Configured
    ) -> list[PolicyFinding]:
        found = facts_from_pulumi(args.resource_type, args.props, args.name, args.urn, load)
        findings = [finding for facts in found for finding in self._validate_one(facts, configured)]
        with self._program.lock:
            self._program.facts[args.urn] = found
            self._program.reported.update((f.rule, f.locator.urn, f.level) for f in findings)
        return findings

    def _validate_one(self, facts: Any, configured: Configured) -> list[PolicyFinding]:
        findings: list[PolicyFinding] = []
        if configured.problem is not None:
            findings.append(unreadable(facts.locator, configured.problem))
            configured.problem = None
        if isinstance(facts, FleetFacts):
            return findings + self._validate_fleet(facts, configured)
        if not isinstance(facts, WorkloadFacts):
            context = self._context(None, configured)
            return findings + run_rules(facts, context, configured.settings)
        context = self._context(self._fleet_for(facts, configured), configured)
        return findings + run_rules(facts, context, configured.settings)

    def _validate_fleet(self, fleet: FleetFacts, configured: Configured) -> list[PolicyFinding]:
        with self._program.lock:
            self._program.fleets[fleet.locator.urn] = fleet
            waiting = list(self._program.waiting.values())
            alone = len(self._program.fleets) == 1
        context = self._context(fleet, configured)
        findings = run_rules(fleet, context, configured.settings)
        if alone and configured.settings.fleet is None:
            needs_fleet = {Needs.FLEET, Needs.POOLS}
            rules = [
                rule
                for rule in validating(WorkloadFacts)
                if rule.sees_pools or needs_fleet & rule.needs
            ]
            with self._program.lock:
                reported = set(self._program.reported)
            for workload in waiting:
                again = run_rules(workload, context, configured.settings, rules)
                findings += [f for f in again if (f.rule, f.locator.urn, f.level) not in reported]
        return findings

    def _fleet_for(self, workload: WorkloadFacts, configured: Configured) -> FleetFacts | None:
        """The pools a workload may run on: the referenced fleet, else the only GpuFleet."""
        if configured.settings.fleet is not None:
            return configured.referenced
        with self._program.lock:
            fleets = list(self._program.fleets.values())
            if not fleets and configured.referenced is None:
                self._program.waiting[workload.locator.urn] = workload
        if len(fleets) > 1:
            return None  # the cluster of the workload is not known
        return fleets[0] if fleets else configured.referenced

    def _context(self, fleet: FleetFacts | None, configured: Configured) -> RuleContext:
        """One context for all resources of a fleet: it keeps what rules compute once."""
        today = self._today()
        known_context = configured.contexts.get(SameObject(fleet))
        if known_context is not None and known_context.today == today:
            return known_context
        named = configured.settings.environment
        made = RuleContext(
            today=today,
            load_catalogue=partial(load, fleet.catalogue) if fleet is not None else load,
            fleet=fleet,
            environment=absent("environment") if named is None else known(named),
            thresholds=configured.settings.thresholds,
        )
        configured.contexts[SameObject(fleet)] = made
        return made


_DESCRIPTIONS = {
    Level.MANDATORY: "GPU waste, or a configuration that cannot work, that must not be deployed",
    Level.ADVISORY: "GPU waste worth knowing",
}


def start(folder: Path | str) -> None:
    """Serve the pack. Only `__main__.py` of a pack folder calls this: it never returns.

    Nothing may be written to standard output before: the engine reads the port from its first line.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    PolicyPack(PACK_NAME, Front(Path(folder)).policies())
