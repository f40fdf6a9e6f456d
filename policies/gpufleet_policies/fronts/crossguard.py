"""CrossGuard integration: checks resources while the Pulumi engine previews or updates.

There is one Pulumi policy for each rule. All rules run in one pass over a resource, and each
finding is reported under the policy of its rule. Rules that compare resources run when all
resources are known, on the inputs of the resources.

Workloads are checked with the pools of the GpuFleet of the same program. A workload that is
registered before its GpuFleet waits, and is checked and reported with the fleet. Both happen before
the fleet's first child exists. For a fleet of another program see `referenced_fleet`.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from pulumi.runtime.proto import analyzer_pb2 as protocol

from gpufleet.catalogue import load
from gpufleet.cluster import FleetFacts, Surroundings, WorkloadFacts, absent, known
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.findings import Finding, Level
from gpufleet.rules.context import RuleContext, SameObject
from gpufleet.rules.rule import Needs, Rule
from gpufleet_policies.fronts.crossguard_configuration import (
    ConfigurationNote,
    Configurations,
    Configured,
    PolicyConfig,
)
from gpufleet_policies.fronts.crossguard_policies import SETTINGS, policy_infos, severity
from gpufleet_policies.readers.plain import SIGNATURE
from gpufleet_policies.readers.pulumi_props import facts_from_pulumi, is_validated
from gpufleet_policies.resolve.json_patch import (
    Operation,
    PatchConflictError,
    patched,
    pointer_keys,
)
from gpufleet_policies.rules.registry import by_id, listed, type_of, validating
from gpufleet_policies.rules.validate import validate as run_rules

Read = Callable[[], Mapping[str, Any]]
"""Returns the properties of a resource in wire format; called only where a rule needs them."""


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding as the engine takes it."""

    policy: str
    """Id of the rule, or the policy of the settings."""
    description: str
    message: str
    level: Level
    severity: Any
    urn: str = ""


@dataclass
class _Program:
    """Known resources of the checked program. Guarded by `lock`: the server has four threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    fleets: dict[str, FleetFacts] = field(default_factory=dict[str, FleetFacts])
    """By URN."""
    waiting: dict[str, WorkloadFacts] = field(default_factory=dict[str, WorkloadFacts])
    """Workloads seen before any fleet, by URN."""
    facts: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    """All facts of the program's resources, by URN."""
    reported: set[tuple[str, str, Level]] = field(default_factory=set[tuple[str, str, Level]])
    """Rule, URN and level of the findings that were reported with their resources."""


@cache
def _across(subject: type, *, with_fleet: bool) -> tuple[Rule, ...]:
    """Rules about one type of facts that compare resources, or see more when all are known.

    A pool whose machines a launch template declares is not known before. Fleets and workloads are;
    with a fleet, the pools of each workload were known too.
    """
    rules = validating(subject)
    if subject not in (FleetFacts, WorkloadFacts):
        return rules
    if with_fleet and subject is WorkloadFacts:
        return tuple(rule for rule in rules if Needs.SURROUNDINGS in rule.needs)
    compares = {Needs.SURROUNDINGS, Needs.POOLS}
    return tuple(rule for rule in rules if rule.sees_pools or compares & rule.needs)


@cache
def _remediating(subject: type, ids: frozenset[str]) -> tuple[Rule, ...]:
    """Those of these rules that are about one type of facts."""
    return tuple(rule for rule in validating(subject) if rule.id in ids or rule.group in ids)


class Front:
    """The policies of one pack process.

    Args:
        folder: Folder of the pack: settings file, and what relative paths in settings start from.
        today: The clock, UTC.

    Raises:
        FleetError: the settings file has wrong settings; ValueError: it is not a mapping at all.
    """

    def __init__(self, folder: Path, *, today: Callable[[], date] | None = None) -> None:
        self._today = today or (lambda: datetime.now(UTC).date())
        self._configurations = Configurations(folder)
        self._program = _Program()
        self._stack = ""
        self._config: PolicyConfig = {}
        self._resolved: Configured | None = None
        self._notes: list[ConfigurationNote] = []

    def policy_infos(self) -> Iterable[protocol.PolicyInfo]:
        """Every policy, with its level without configuration."""
        return policy_infos(self._configurations.levels)

    def configure(self, config: PolicyConfig) -> None:
        """Take levels and properties of the policies."""
        self._config = config
        self._resolved = None

    def configure_stack(self, stack: str) -> None:
        """Read the environment from the name of the stack, where no setting states it."""
        self._stack = stack
        self._resolved = None

    def _configured(self) -> Configured:
        """The configuration in force: resolved when the first resource needs it."""
        with self._program.lock:
            if self._resolved is None:
                self._resolved = self._configurations.resolved(self._config, self._stack)
                self._notes = list(self._resolved.notes)
            return self._resolved

    def analyze(self, resource_type: str, urn: str, name: str, read: Read) -> list[Reported]:
        """Findings about one resource, and what is wrong with the configuration: once."""
        configured = self._configured()
        notes, self._notes = self._notes, []
        found = [_note(one) for one in notes]
        if not is_validated(resource_type) or configured.is_off:
            return found
        facts = facts_from_pulumi(resource_type, read(), name, urn)
        findings = [one for fact in facts for one in self._validate_one(fact, configured)]
        with self._program.lock:
            self._program.facts[urn] = facts
            self._program.reported.update((f.code, f.locator.urn, f.level) for f in findings)
        return found + _reported(findings)

    def analyze_stack(self) -> list[Reported]:
        """Findings of the rules that need the whole program, on every resource seen."""
        configured = self._configured()
        notes, self._notes = self._notes, []
        found = [_note(one) for one in notes]
        if configured.is_off:
            return found
        return found + _reported(self._validate_stack(configured))

    def remediate(
        self, resource_type: str, urn: str, name: str, read: Read
    ) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Rule, its sentence and the complete new inputs, for each rule that fixes something."""
        configured = self._configured()
        if not configured.remediated or not is_validated(resource_type):
            return []
        inputs = read()
        changes: list[tuple[str, str, Mapping[str, Any]]] = []
        for facts in facts_from_pulumi(resource_type, inputs, name, urn):
            fleet = None if isinstance(facts, FleetFacts) else configured.referenced
            rules = _remediating(type_of(facts), configured.remediated)
            context = self._context(fleet, configured)
            for finding in run_rules(facts, context, configured.settings, rules):
                if finding.level is not Level.MANDATORY:
                    continue
                changed = remediated(inputs, finding.remediation)
                if changed is not None:
                    inputs = changed
                    rule = listed(finding.code)
                    assert rule is not None
                    changes.append((rule.id, by_id()[finding.code].sentence, changed))
        return changes

    def _validate_stack(self, configured: Configured) -> list[Finding]:
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
            if (rules := _across(type_of(facts), with_fleet=fleet is not None))
            for finding in run_rules(facts, context, configured.settings, rules, keep_waived=True)
            if (finding.code, finding.locator.urn, finding.level) not in reported
        ]
        configured.stack = (seen, findings)
        return findings

    def _validate_one(self, facts: Any, configured: Configured) -> list[Finding]:
        if isinstance(facts, FleetFacts):
            return self._validate_fleet(facts, configured)
        fleet = self._fleet_for(facts, configured)
        context = self._context(fleet, configured)
        return run_rules(facts, context, configured.settings, keep_waived=True)

    def _validate_fleet(self, fleet: FleetFacts, configured: Configured) -> list[Finding]:
        with self._program.lock:
            self._program.fleets[fleet.locator.urn] = fleet
            waiting = list(self._program.waiting.values())
            alone = len(self._program.fleets) == 1
        context = self._context(fleet, configured)
        findings = run_rules(fleet, context, configured.settings, keep_waived=True)
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
                again = run_rules(workload, context, configured.settings, rules, keep_waived=True)
                findings += [f for f in again if (f.code, f.locator.urn, f.level) not in reported]
        return findings

    def _fleet_for(self, facts: Any, configured: Configured) -> FleetFacts | None:
        """The pools a workload may run on, and the cluster that reads an object: the referenced
        fleet, else the only GpuFleet. None for facts about machines."""
        if not isinstance(facts, WorkloadFacts | NvidiaConfig):
            return None
        if configured.settings.fleet is not None:
            return configured.referenced
        with self._program.lock:
            fleets = list(self._program.fleets.values())
            is_workload = isinstance(facts, WorkloadFacts)
            if is_workload and not fleets and configured.referenced is None:
                self._program.waiting[facts.locator.urn] = facts
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


def _reported(findings: Iterable[Finding]) -> list[Reported]:
    found: list[Reported] = []
    for finding in findings:
        level = Level.ADVISORY if finding.waiver is not None else finding.level
        rule = listed(finding.code)
        found.append(
            Reported(
                SETTINGS if rule is None else rule.id,
                "Settings of the policies." if rule is None else rule.sentence,
                finding.lines,
                level.enforced,
                protocol.POLICY_SEVERITY_LOW if rule is None else severity(rule),
                finding.locator.urn,
            )
        )
    return found


def _note(note: ConfigurationNote) -> Reported:
    high, low = protocol.POLICY_SEVERITY_HIGH, protocol.POLICY_SEVERITY_LOW
    return Reported(
        SETTINGS,
        "Settings of the policies.",
        f"[{note.code}] {note.message}. See docs/policies.md#settings",
        note.level,
        high if note.level is Level.MANDATORY else low,
    )


def start(folder: Path | str) -> None:
    """Serve the pack. Only `__main__.py` of a pack folder calls this: it never returns."""
    from gpufleet_policies.fronts.crossguard_server import serve

    serve(Front(Path(folder)))


def remediated(properties: Any, operations: Iterable[Operation]) -> Mapping[str, Any] | None:
    """New inputs with every operation that fits; None when nothing changes.

    `properties` are those on the wire, where secrets are wrapped and unknown values are texts of
    Pulumi's: no patch changes either. They are not changed themselves.
    """
    changed = properties
    for operation in operations:
        if not _is_readable(changed, str(operation["path"])):
            continue
        try:
            changed = patched(changed, [operation])
        except PatchConflictError:
            continue  # the violation stays and is reported as such
    return None if changed == properties else changed


def _is_readable(document: Any, pointer: str) -> bool:
    """Whether the way to a field leads through nothing that is unknown or secret."""
    here: Any = document
    for name in pointer_keys(pointer)[:-1]:
        held = cast("dict[str, Any] | list[Any]", here)
        if isinstance(held, dict) and name in held:
            here = held[name]
        elif isinstance(held, list) and name.isdecimal() and int(name) < len(held):
            here = held[int(name)]
        else:
            return False
        if not isinstance(here, dict | list) or SIGNATURE in here:
            return False  # unknown values are texts, secrets and assets have a signature
    return True
