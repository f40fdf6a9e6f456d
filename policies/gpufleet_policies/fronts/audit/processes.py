"""An audit in several forked processes."""

import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn

from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.parcels import packed, unpacked
from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.fronts.audit.run import EndedEarlyError, Part, Task, judged_part, read_part

FILES_PER_PROCESS = 40
"""Fewer files are read in less time than a process takes to start."""
_ENDED_EARLY = "a process of the audit ended early; try --jobs 1"
_NOT_STARTED = "a process of the audit cannot be started"
_LENGTH = 8
"""Bytes before each message that tell its length."""


def can_fork() -> bool:
    """Whether processes can be forked safely: not on macOS, whose libraries forbid it."""
    return hasattr(os, "fork") and sys.platform != "darwin"


class _Line:
    """Messages from and to another process of the audit.

    Pipes of the system: what `multiprocessing` would bring takes as long to import as a tenth of
    an audit of a thousand files.
    """

    def __init__(self, process: int, reads: int, writes: int) -> None:
        self.process = process
        self._reads: BinaryIO = os.fdopen(reads, "rb")
        self._writes: BinaryIO = os.fdopen(writes, "wb")

    def send(self, message: bytes) -> None:
        """Hand a message over. Raises BrokenPipeError when the other process has ended."""
        self._writes.write(len(message).to_bytes(_LENGTH))
        self._writes.write(message)
        self._writes.flush()

    def receive(self) -> bytes:
        """The next message. Raises EOFError when the other process ended without one."""
        length = self._reads.read(_LENGTH)
        message = self._reads.read(int.from_bytes(length)) if len(length) == _LENGTH else b""
        if len(length) < _LENGTH or len(message) < int.from_bytes(length):
            raise EOFError
        return message

    def close(self) -> None:
        """Say that nothing more is sent or read."""
        self._reads.close()
        with suppress(BrokenPipeError):  # what an interrupted `send` left, to a process that ended
            self._writes.close()


def run_parts(task: Task, inputs: Sequence[Input], jobs: int) -> Part:
    """Read and judge all inputs in up to `jobs` processes; the results are in the inputs' order.

    Raises EndedEarlyError when a process cannot be started, or ends without an answer.
    """
    count = min(jobs, -(-len(inputs) // FILES_PER_PROCESS)) if can_fork() else 1
    if count <= 1:
        return judged_part(task, read_part(inputs))
    parts = [inputs[index::count] for index in range(count)]
    others: list[_Line] = []

    def exchange(readings: list[Reading]) -> Iterable[Iterable[Any]]:
        """The first part is read here; facts of all are merged and handed round."""
        own = [reading.facts for reading in readings]
        texts = [packed(own), *(_received(other) for other in others)]
        for index, other in enumerate(others, start=1):
            for at, text in enumerate(texts):
                if at != index:
                    other.send(text)
        return _merged([own, *(unpacked(text) for text in texts[1:])])

    try:
        for index in range(1, count):
            others.append(_started(task, parts, index, others))
        first = judged_part(task, read_part(parts[0]), exchange)
        results = [first.files, *(unpacked(_received(other)) for other in others)]
    except BrokenPipeError:
        raise EndedEarlyError(_ENDED_EARLY) from None
    finally:
        for other in others:
            other.close()
        for other in others:
            os.waitpid(other.process, 0)
    return Part(_merged(results), first.spend)


def _received(other: _Line) -> bytes:
    try:
        return other.receive()
    except EOFError:
        raise EndedEarlyError(_ENDED_EARLY) from None


def _started(
    task: Task, parts: Sequence[Sequence[Input]], index: int, others: Sequence[_Line]
) -> _Line:
    """The line to a new process that reads and judges one of the parts."""
    here_reads, there_writes = os.pipe()
    there_reads, here_writes = os.pipe()
    try:
        process = os.fork()
    except OSError as problem:
        for end in (here_reads, there_writes, there_reads, here_writes):
            os.close(end)
        raise EndedEarlyError(f"{_NOT_STARTED}: {problem.strerror}; try --jobs 1") from None
    if process:
        os.close(there_reads)
        os.close(there_writes)
        return _Line(process, here_reads, here_writes)
    try:
        # Kept open here too, these would never tell the others that the first process has ended.
        for other in others:
            other.close()
        os.close(here_reads)
        os.close(here_writes)
        _work(_Line(os.getppid(), there_reads, there_writes), task, parts, index)
    except (BrokenPipeError, EOFError, KeyboardInterrupt):
        pass  # nobody waits for an answer
    except BaseException:  # noqa: BLE001  said here: the first process only sees that it ended
        traceback.print_exc()
    os._exit(1)


def _work(parent: _Line, task: Task, parts: Sequence[Sequence[Input]], index: int) -> NoReturn:
    def exchange(readings: list[Reading]) -> Iterable[Iterable[Any]]:
        own = [reading.facts for reading in readings]
        parent.send(packed(own))
        theirs = [unpacked(parent.receive()) for _ in range(len(parts) - 1)]
        return _merged([*theirs[:index], own, *theirs[index:]])

    readings = read_part(parts[index])
    found = judged_part(task, readings, exchange, reckons=False).files
    parent.send(packed(found))
    os._exit(0)  # here, where everything is still held: nobody waits for memory to be given back


def _merged(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Parts dealt out in turn, put together in the order of the inputs."""
    longest = max(len(part) for part in parts)
    return [part[row] for row in range(longest) for part in parts if row < len(part)]
