"""The audit: read all inputs, and check every object together with all others, in order.

Several processes read many files. The rules need all facts and run in one process. The result does
not depend on the number of processes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster import FleetFacts, Surroundings, UncompiledFleet, WorkloadFacts, absent, known
from gpufleet.cluster.program import Program
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.fronts.audit.built import (
    with_built,
    with_resources,
    with_runtimes,
    without_patches,
)
from gpufleet_policies.fronts.audit.cluster_contexts import contexts_of, only_fleet
from gpufleet_policies.fronts.audit.comments import with_comments, wrong_comments
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.node_use import RequestedGpus, node_use
from gpufleet_policies.fronts.audit.placed import placed
from gpufleet_policies.fronts.audit.reading import Reading, read_input
from gpufleet_policies.fronts.audit.releases import with_environments, with_open_releases
from gpufleet_policies.money.stack import StackSpend
from gpufleet_policies.resolve.tree import Tree, plain
from gpufleet_policies.rules.program import spend_of
from gpufleet_policies.rules.settings import RuleSettings
from gpufleet_policies.rules.validate import validate
from gpufleet_policies.wrappers.judged import Unjudged


class EndedEarlyError(RuntimeError):
    """A process of the audit ended without a result (killed, out of memory) or did not start."""


FILES_PER_PROCESS = 200
"""Fewer files are read in less time than a process takes to start and to hand over its facts."""


@dataclass(frozen=True, slots=True)
class AuditContext:
    """The caller's facts about the place of the configurations."""

    known: Mapping[str, Any] | None = None
    """The context of `gpufleet check`; None: nothing is known, and no default counts."""
    select: str | None = None
    """The config, or key of a ConfigMap, that a node will get."""


NOWHERE = AuditContext()


@dataclass(frozen=True, slots=True)
class FileResult:
    """Result of one input."""

    name: str
    objects: int
    """Number of objects that were checked; one object may give several facts."""
    documents: int
    problem: str
    templates: int
    findings: tuple[Finding, ...]
    not_judged: tuple[Unjudged, ...] = ()
    waived: tuple[Finding, ...] = ()
    """Findings that an annotation, a comment or the settings silence."""
    beside: int = 0
    """Documents of known kinds without GPUs."""

    @property
    def looked_at(self) -> int:
        """Number of objects and documents that were validated; 0 is not a success."""
        return self.objects + self.beside


@dataclass(frozen=True, slots=True)
class Audit:
    """Results of all inputs, in their order."""

    files: tuple[FileResult, ...]
    spend: StackSpend | None = None
    """Smallest and largest cost of all pools; None: no pool with GPUs is declared."""
    known: tuple[Finding, ...] = field(default=())
    """Findings of the baseline: listed as waived, never as a failure."""
    nodes: tuple[RequestedGpus, ...] = ()
    """GPUs of nodes, where nodes and their pods are among the inputs."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, by file and line."""
        return tuple(finding for file in self.files for finding in file.findings)

    @property
    def not_judged(self) -> tuple[Unjudged, ...]:
        """Objects that no rule validated, or only in part."""
        return tuple(one for file in self.files for one in file.not_judged)

    @property
    def waived(self) -> tuple[Finding, ...]:
        """Every finding that does not count, by file and line; those of the baseline last."""
        return (*(finding for file in self.files for finding in file.waived), *self.known)

    @property
    def looked_at(self) -> int:
        """The same number of all inputs."""
        return sum(file.looked_at for file in self.files)

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
    """Validate all declarations in the inputs.

    Args:
        inputs: Inputs to read.
        settings: Profile, levels, exceptions, thresholds.
        today: UTC; exceptions end by it.
        referenced: The fleet of the workloads, where it is declared elsewhere.
        jobs: Maximum number of reading processes.

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
    views, later = contexts_of(readings, settings.clusters, whole)
    checked = [
        _checked(reading, views[index], settings, later) for index, reading in enumerate(readings)
    ]
    findings = _by_file(readings, [found for found, _ in checked], settings, today)
    files = [
        _result(reading, findings.pop(reading.name, []), unknown)
        for reading, (_, unknown) in zip(readings, checked, strict=True)
    ]
    # Source files of the run's kustomizations that are not among its inputs.
    files += [_result(Reading(name), found, []) for name, found in findings.items()]
    return Audit(tuple(files), _spend(whole, later), nodes=node_use(whole))


def read_all(inputs: Sequence[Input], jobs: int = 1) -> list[Reading]:
    """Contents of the inputs, in their order, read by several processes where there are many.

    Raises EndedEarlyError, as `audit` does.
    """
    if jobs > 1 and len(inputs) > FILES_PER_PROCESS:
        from gpufleet_policies.fronts.audit.processes import read_in_processes

        return read_in_processes(inputs, min(jobs, -(-len(inputs) // FILES_PER_PROCESS)))
    return [read_input(one) for one in inputs]


def _spend(context: RuleContext, later: Mapping[int, str]) -> StackSpend | None:
    """Cost of all pools, without those that a later file writes again."""
    if later and context.surroundings is not None:
        facts = tuple(fact for fact in context.surroundings if id(fact) not in later)
        context = replace(context, surroundings=Surroundings(facts), memo={})
    found = spend_of(context)
    return found if found.pools else None


def completed(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, each completed with facts of the others."""
    replaced = {one.name: one.content for one in readings if one.content is not None}
    tree = Tree([one.name for one in readings], replaced)
    built = with_open_releases(with_built(with_resources(readings), tree), tree)
    return without_patches(with_runtimes(with_environments(built)))


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
        load_catalogue=cache(partial(load, fleet.catalogue) if fleet is not None else load),
        fleet=fleet,
        surroundings=surroundings,
        environment=absent("environment") if named is None else known(named),
        thresholds=settings.thresholds,
        place=place.known,
        select=place.select,
    )


def _checked(
    reading: Reading,
    views: Callable[[Any], Sequence[RuleContext]],
    settings: RuleSettings,
    later: Mapping[int, str],
) -> tuple[list[Finding], list[Unjudged]]:
    """Findings about the facts of a reading, and its facts without a rule."""
    found: list[Finding] = []
    unknown_fleets: list[Unjudged] = []
    for fact, document in zip(reading.facts, reading.sources, strict=True):
        contexts = views(fact)
        unknown_fleets += _without_fleet(fact, reading.name, contexts)
        for at, context in enumerate(contexts):
            for finding in validate(fact, context, settings, keep_waived=True):
                one = placed(finding, document, reading.name)
                if id(fact) in later:
                    one = _written_again(one, later[id(fact)])
                # Most findings about what several clusters share are the same in each.
                if at == 0 or all(_words(one) != _words(other) for other in found):
                    found.append(one)
    return found, unknown_fleets


def _written_again(one: Finding, file: str) -> Finding:
    """A finding about an object that a later file writes again: its money is added there alone."""
    money = None if one.money is None else replace(one.money, of_all=True)
    return replace(one, money=money, message=f"{one.message}; the same object is in {file} again")


def _by_file(
    readings: Sequence[Reading],
    checked: Sequence[Sequence[Finding]],
    settings: RuleSettings,
    today: date,
) -> dict[str, list[Finding]]:
    """File -> the findings placed in it, by line, with the waivers of its comments.

    A finding without money that several kustomizations repeat is reported once.
    """
    typed = {plain(reading.name): reading for reading in readings}
    by_file: dict[str, list[Finding]] = {}
    known: set[tuple[Any, ...]] = set()
    for reading, found in zip(readings, checked, strict=True):
        for one in found:
            home = reading if one.file == reading.name else typed.get(one.file)
            name = one.file if home is None else home.name
            if home is not reading:
                which = None if one.money is None else str(one.locator)
                key = (name, one.line, one.code, one.path, one.message, which)
                if key in known:
                    continue
                known.add(key)
            by_file.setdefault(name, []).append(
                one if one.file == name else replace(one, file=name)
            )
    for reading in readings:
        wrong = list(wrong_comments(reading.name, reading.comments, today, settings))
        found = with_comments(
            [*by_file.pop(reading.name, []), *wrong], reading.comments, today, settings
        )
        if found:
            by_file[reading.name] = sorted(found, key=lambda one: one.line)
    return by_file


def _result(reading: Reading, found: Sequence[Finding], unknown: Sequence[Unjudged]) -> FileResult:
    return FileResult(
        reading.name,
        len({fact.locator for fact in reading.facts} - _unread_values(reading, found)),
        reading.documents,
        reading.problem,
        reading.templates,
        tuple(one for one in found if one.waiver is None),
        (*reading.not_judged, *unknown),
        tuple(one for one in found if one.waiver is not None),
        reading.beside,
    )


def _unread_values(reading: Reading, found: Sequence[Finding]) -> set[Any]:
    """Values that no rule reads: their chart has none of the keys, or no rule covers the chart."""
    unknown = {(one.locator, one.path) for one in found if one.code == "config-key-unknown"}
    unread = {one.object for one in reading.not_judged if one.what == "chart"}
    return {
        one.locator
        for one in reading.facts
        if isinstance(one, Program)
        and one.values
        and (
            str(one.locator) in unread
            or unknown.issuperset((one.locator, one.field(key)) for key in one.values)
        )
    }


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
