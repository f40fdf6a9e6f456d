"""An audit in several forked processes."""

import multiprocessing
import sys
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.parcels import packed, unpacked
from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.fronts.audit.run import Part, Task, run_part

FILES_PER_PROCESS = 40
"""Fewer files are read in less time than a process takes to start."""


def can_fork() -> bool:
    """Whether processes can be forked safely: not on macOS, whose libraries forbid it."""
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def run_parts(task: Task, inputs: Sequence[Input], jobs: int) -> Part:
    """Read and judge all inputs in up to `jobs` processes; the results are in the inputs' order."""
    count = min(jobs, -(-len(inputs) // FILES_PER_PROCESS)) if can_fork() else 1
    if count <= 1:
        return run_part(task, inputs, lambda readings: [r.facts for r in readings])
    parts = [inputs[index::count] for index in range(count)]
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(1, count)]
    workers = [
        context.Process(target=_work, args=(theirs, task, part, index), daemon=True)
        for index, ((_, theirs), part) in enumerate(zip(pipes, parts[1:], strict=True), start=1)
    ]
    for worker, (_, theirs) in zip(workers, pipes, strict=True):
        worker.start()
        theirs.close()
    others = [ours for ours, _ in pipes]

    def exchange(readings: list[Reading]) -> Iterable[Iterable[Any]]:
        """The first part is read here; facts of all are merged and handed round."""
        own = [reading.facts for reading in readings]
        texts = [packed(own)]
        texts += [_received(other) for other in others]
        for index, other in enumerate(others, start=1):
            other.send([text for at, text in enumerate(texts) if at != index])
        return _merged([own, *(unpacked(text) for text in texts[1:])])

    try:
        first = run_part(task, parts[0], exchange)
        results = [first.files]
        results += [unpacked(_received(other)) for other in others]
    finally:
        for other in others:
            other.close()
        for worker in workers:
            worker.join()
    return Part(_merged(results), first.spend)


def _received(other: "Connection[Any, Any]") -> bytes:
    try:
        return other.recv()
    except EOFError:
        raise RuntimeError("a process of the audit ended early; try --jobs 1") from None


def _work(parent: "Connection[Any, Any]", task: Task, part: Sequence[Input], index: int) -> None:
    def exchange(readings: list[Reading]) -> Iterable[Iterable[Any]]:
        own = [reading.facts for reading in readings]
        parent.send(packed(own))
        texts = parent.recv()
        theirs = [unpacked(text) for text in texts]
        return _merged([*theirs[:index], own, *theirs[index:]])

    found = run_part(task, part, exchange, reckons=False).files
    parent.send(packed(found))
    parent.close()


def _merged(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Parts dealt out in turn, put together in the order of the inputs."""
    longest = max(len(part) for part in parts)
    return [part[row] for row in range(longest) for part in parts if row < len(part)]
