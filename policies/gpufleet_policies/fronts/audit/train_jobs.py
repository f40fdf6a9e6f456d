"""Readings of TrainJobs: the pods of each are those of the runtime that it names."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.fronts.audit.unjudged import Unjudged
from gpufleet_policies.readers.train_jobs import TrainerObject, with_runtime
from gpufleet_policies.readers.workload import workload_from


def with_runtimes(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, each TrainJob with the pods of its runtime; a TrainJob without its runtime in
    the files is listed, unless it states the requests of its nodes."""
    found = [one for reading in readings for one in reading.facts if type(one) is TrainerObject]
    if not found:
        return readings
    runtimes = {
        (one.locator.kind, one.locator.namespace, one.locator.name): one
        for one in found
        if one.locator.kind != "TrainJob"
    }
    return [_joined(reading, runtimes) for reading in readings]


def _joined(reading: Reading, runtimes: dict[tuple[str, str, str], TrainerObject]) -> Reading:
    jobs = {
        one.locator: one
        for one in reading.facts
        if type(one) is TrainerObject and one.locator.kind == "TrainJob"
    }
    if not jobs:
        return reading
    facts: list[Any] = []
    left = list(reading.not_judged)
    for fact in reading.facts:
        job = jobs.get(fact.locator) if isinstance(fact, WorkloadFacts) else None
        runtime = None if job is None else runtimes.get(job.runtime)
        if job is not None and runtime is not None:
            made = with_runtime(job.document, runtime.document)
            fact = workload_from(made, fact.locator, fact.api_group) or fact
        elif job is not None and not fact.uses_gpus:
            reason = f"its runtime {job.runtime[2]} is not among the files: its pods are not known"
            line, name = max(fact.locator.line, 1), str(fact.locator)
            left.append(Unjudged(reading.name, line, name, "values", reason))
        facts.append(fact)
    return replace(reading, facts=facts, not_judged=list(dict.fromkeys(left)))
