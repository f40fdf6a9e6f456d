"""The audit itself: read everything, judge every object beside everything else, in order.

Reading and judging run in several processes where the system can fork. Each reads its part of the
files and tells the others what it found, because rules look at the whole; then each judges its own
part. What comes out does not depend on the number of processes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from gpufleet.catalogue import load
from gpufleet_policies.facts import FleetFacts, Surroundings, absent, known
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.placed import PlacedFinding, placed
from gpufleet_policies.fronts.audit.reading import Reading, read_input
from gpufleet_policies.money.stack import StackSpend
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.judge import judge
from gpufleet_policies.rules.program import spend_of
from gpufleet_policies.rules.settings import Settings


class EndedEarlyError(RuntimeError):
    """A process of the audit ended without an answer: killed, or out of memory, or never begun."""


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one input."""

    name: str
    objects: int
    """Facts that were judged."""
    documents: int
    problem: str
    templates: int
    findings: tuple[PlacedFinding, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """What became of all inputs, in their order."""

    files: tuple[FileResult, ...]
    spend: StackSpend | None = None
    """What all pools together cost and can come to; None: no pool with GPUs is declared."""
    known: tuple[PlacedFinding, ...] = field(default=())
    """Findings of the baseline: reported as a number, never as a failure."""

    @property
    def findings(self) -> tuple[PlacedFinding, ...]:
        """Every finding, by file and line."""
        return tuple(finding for file in self.files for finding in file.findings)

    @property
    def unread(self) -> tuple[FileResult, ...]:
        """Inputs that were not, or not wholly, read."""
        return tuple(file for file in self.files if file.problem)


@dataclass(frozen=True, slots=True)
class Task:
    """What every process of an audit knows."""

    settings: Settings
    today: date
    told: FleetFacts | None
    """The fleet that the settings name."""


def audit(
    inputs: Sequence[Input],
    settings: Settings,
    today: date,
    *,
    told: FleetFacts | None = None,
    jobs: int = 1,
) -> Audit:
    """Judge everything that the inputs declare.

    Args:
        inputs: What to read.
        settings: Profile, levels, exceptions, thresholds.
        today: UTC; exceptions end by it.
        told: The pools of workloads whose fleet is declared elsewhere.
        jobs: Most processes. Systems that cannot fork use one.

    Raises:
        EndedEarlyError: one of several processes was killed, or ran out of memory.
    """
    task = Task(settings, today, told)
    if jobs > 1 and len(inputs) > 1:
        from gpufleet_policies.fronts.audit.processes import run_parts

        part = run_parts(task, inputs, jobs)
    else:
        part = judged_part(task, read_part(inputs))
    return Audit(tuple(part.files), part.spend)


@dataclass(frozen=True, slots=True)
class Part:
    """What one process found."""

    files: list[FileResult]
    spend: StackSpend | None


Exchange = Callable[[list[Reading]], Iterable[Iterable[Any]]]
"""Hands on what was read here; answers the facts of every input of the run, in their order."""


def read_part(inputs: Iterable[Input]) -> list[Reading]:
    """What a part of the inputs holds."""
    return [read_input(one) for one in inputs]


def _alone(readings: list[Reading]) -> Iterable[Iterable[Any]]:
    return [reading.facts for reading in readings]


def judged_part(
    task: Task, readings: list[Reading], exchange: Exchange = _alone, *, reckons: bool = True
) -> Part:
    """Judge a part of the inputs beside everything that the others read.

    One part of a run `reckons` what all pools together cost. Default of `exchange`: there are no
    others.
    """
    everything = tuple(fact for facts in exchange(readings) for fact in facts)
    context = _context(task, everything)
    files = [_judged(reading, context, task.settings) for reading in readings]
    return Part(files, _spend(context) if reckons else None)


def _spend(context: Context) -> StackSpend | None:
    found = spend_of(context)
    return found if found.pools else None


def _context(task: Task, everything: tuple[Any, ...]) -> Context:
    fleets = [fact for fact in everything if isinstance(fact, FleetFacts)]
    fleet = task.told or (fleets[0] if len(fleets) == 1 else None)
    named = task.settings.environment
    return Context(
        today=task.today,
        load_catalogue=partial(load, fleet.catalogue) if fleet is not None else load,
        fleet=fleet,
        surroundings=Surroundings(everything),
        environment=absent("environment") if named is None else known(named),
        thresholds=task.settings.thresholds,
    )


def _judged(reading: Reading, context: Context, settings: Settings) -> FileResult:
    found = [
        placed(finding, document, reading.name)
        for fact, document in zip(reading.facts, reading.sources, strict=True)
        for finding in judge(fact, context, settings)
    ]
    found.sort(key=lambda one: one.line)
    return FileResult(
        reading.name,
        len(reading.facts),
        reading.documents,
        reading.problem,
        reading.templates,
        tuple(found),
    )
