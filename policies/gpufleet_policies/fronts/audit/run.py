"""The audit: read all inputs, and check every object together with all others, in order.

Several processes read many files. The rules need all facts and run in one process. The result does
not depend on the number of processes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster import (
    FleetFacts,
    Surroundings,
    UncompiledFleet,
    WorkloadFacts,
    absent,
    known,
)
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.fronts.audit.cluster_contexts import contexts_of, only_fleet
from gpufleet_policies.fronts.audit.comment_waivers import with_comments, wrong_comments
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.patch_files import without_patches
from gpufleet_policies.fronts.audit.placed import placed
from gpufleet_policies.fronts.audit.reading import Reading, read_input
from gpufleet_policies.fronts.audit.releases import with_open_releases
from gpufleet_policies.fronts.audit.unjudged import Unjudged
from gpufleet_policies.money.stack import StackSpend
from gpufleet_policies.rules.program import spend_of
from gpufleet_policies.rules.settings import RuleSettings
from gpufleet_policies.rules.validate import validate


class EndedEarlyError(RuntimeError):
    """A process of the audit ended without an answer (killed, out of memory) or did not start."""


FILES_PER_PROCESS = 200
"""Fewer files are read in less time than a process takes to start and to hand over its facts."""


@dataclass(frozen=True, slots=True)
class AuditContext:
    """What the caller knows of the place where configurations will be read."""

    known: Mapping[str, Any] | None = None
    """The context of `gpufleet check`; None: nothing is known, and no default counts."""
    select: str | None = None
    """The config, or key of a ConfigMap, that a node will be given."""


NOWHERE = AuditContext()


@dataclass(frozen=True, slots=True)
class FileResult:
    """Result of one input."""

    name: str
    objects: int
    """Number of checked facts."""
    documents: int
    problem: str
    templates: int
    findings: tuple[Finding, ...]
    not_judged: tuple[Unjudged, ...] = ()
    waived: tuple[Finding, ...] = ()
    """Findings that an annotation, a comment or the settings silence."""
    beside: int = 0
    """Documents that rules know, and that hold nothing about GPUs."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Results of all inputs, in their order."""

    files: tuple[FileResult, ...]
    spend: StackSpend | None = None
    """Smallest and largest cost of all pools; None: no pool with GPUs is declared."""
    known: tuple[Finding, ...] = field(default=())
    """Findings of the baseline: listed as waived, never as a failure."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, by file and line."""
        return tuple(finding for file in self.files for finding in file.findings)

    @property
    def not_judged(self) -> tuple[Unjudged, ...]:
        """What was seen, and no rule has judged or not wholly."""
        return tuple(one for file in self.files for one in file.not_judged)

    @property
    def waived(self) -> tuple[Finding, ...]:
        """Every finding that does not count, by file and line; those of the baseline last."""
        return (*(finding for file in self.files for finding in file.waived), *self.known)

    @property
    def looked_at(self) -> int:
        """Number of facts and documents that were judged; 0: nothing was, which is not a
        success."""
        return sum(file.objects + file.beside for file in self.files)

    @property
    def unread(self) -> tuple[FileResult, ...]:
        """Inputs that were not, or not wholly, read."""
        return tuple(file for file in self.files if file.problem)


def audit(
    inputs: Sequence[Input],
    settings: RuleSettings,
    today: date,
    *,
    referenced: FleetFacts | None = None,
    jobs: int = 1,
) -> Audit:
    """Validate everything that the inputs declare.

    Args:
        inputs: What to read.
        settings: Profile, levels, exceptions, thresholds.
        today: UTC; exceptions end by it.
        referenced: The fleet of the workloads, where it is declared elsewhere.
        jobs: Most processes that read.

    Raises:
        EndedEarlyError: one of several processes was killed, ran out of memory or cannot start.
    """
    return judged(read_all(inputs, jobs), settings, today, referenced)


def judged(
    readings: Sequence[Reading],
    settings: RuleSettings,
    today: date,
    referenced: FleetFacts | None = None,
    place: AuditContext = NOWHERE,
) -> Audit:
    """Validate everything that was read, all of it together."""
    readings = completed(readings)
    whole = context_of(readings, settings, today, referenced, place)
    views = contexts_of(readings, settings.clusters, whole)
    files = tuple(
        _validated(reading, views[index], settings, today) for index, reading in enumerate(readings)
    )
    return Audit(files, _spend(whole))


def read_all(inputs: Sequence[Input], jobs: int = 1) -> list[Reading]:
    """What the inputs hold, in their order, read by several processes where there are many.

    Raises EndedEarlyError, as `audit` does.
    """
    if jobs > 1 and len(inputs) > FILES_PER_PROCESS:
        from gpufleet_policies.fronts.audit.processes import read_in_processes

        return read_in_processes(inputs, min(jobs, -(-len(inputs) // FILES_PER_PROCESS)))
    return [read_input(one) for one in inputs]


def _spend(context: RuleContext) -> StackSpend | None:
    found = spend_of(context)
    return found if found.pools else None


def completed(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, each with what it needs of the others. Those that are completed stay so."""
    return without_patches(with_open_releases(readings))


def context_of(
    readings: Sequence[Reading],
    settings: RuleSettings,
    today: date,
    referenced: FleetFacts | None = None,
    place: AuditContext = NOWHERE,
) -> RuleContext:
    """The context of everything that was read."""
    surroundings = Surroundings(tuple(fact for reading in readings for fact in reading.facts))
    fleet = referenced or only_fleet(surroundings)
    named = settings.environment
    return RuleContext(
        today=today,
        load_catalogue=partial(load, fleet.catalogue) if fleet is not None else load,
        fleet=fleet,
        surroundings=surroundings,
        environment=absent("environment") if named is None else known(named),
        thresholds=settings.thresholds,
        place=place.known,
        select=place.select,
    )


def _validated(
    reading: Reading,
    views: Callable[[Any], Sequence[RuleContext]],
    settings: RuleSettings,
    today: date,
) -> FileResult:
    found: list[Finding] = []
    unknown_fleets: list[Unjudged] = []
    for fact, document in zip(reading.facts, reading.sources, strict=True):
        contexts = views(fact)
        unknown_fleets += _without_fleet(fact, reading.name, contexts)
        for at, context in enumerate(contexts):
            for finding in validate(fact, context, settings, keep_waived=True):
                one = placed(finding, document, reading.name)
                # Most findings about what several clusters share are the same in each.
                if at == 0 or all(_words(one) != _words(other) for other in found):
                    found.append(one)
    found += wrong_comments(reading.name, reading.comments, today, settings)
    found = with_comments(found, reading.comments, today)
    found.sort(key=lambda one: one.line)
    return FileResult(
        reading.name,
        len(reading.facts),
        reading.documents,
        reading.problem,
        reading.templates,
        tuple(one for one in found if one.waiver is None),
        (*reading.not_judged, *unknown_fleets),
        tuple(one for one in found if one.waiver is not None),
        reading.beside,
    )


def _without_fleet(fact: Any, file: str, contexts: Sequence[RuleContext]) -> Iterator[Unjudged]:
    """A workload whose fleet is declared and does not compile: rules about its pools are off."""
    if not isinstance(fact, WorkloadFacts) or not (fact.uses_gpus or fact.uses_claims):
        return
    broken = [
        str(one.locator)
        for context in contexts
        if context.fleet is None
        for one in context.declared(UncompiledFleet)
    ]
    if broken:
        names = ", ".join(dict.fromkeys(broken))
        reason = (
            f"its fleet is not known: {names} does not compile, so no rule compares their pools"
        )
        yield Unjudged(file, fact.locator.line, str(fact.locator), "fleet", reason)


def _words(one: Finding) -> tuple[str, str, str, str]:
    return one.code, str(one.locator), one.path, one.message
