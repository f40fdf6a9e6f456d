"""Reading many files in several processes, each of which gives back facts and lines."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from gpufleet_policies.fronts.audit.inputs import STANDARD_INPUT, Input
from gpufleet_policies.fronts.audit.reading import Reading, read_input
from gpufleet_policies.fronts.audit.run import EndedEarlyError

_FILES_AT_ONCE = 20
"""Files that a process is given at a time."""


def read_in_processes(inputs: Sequence[Input], count: int) -> list[Reading]:
    """What the inputs hold, in their order, read by `count` processes.

    Raises EndedEarlyError when a process cannot be started, or ends without an answer.
    """
    files = [one for one in inputs if _is_plain_file(one)]
    try:
        readings = _answers(files, count)
    except KeyboardInterrupt:
        # A process whose answer no one reads any more would wait for ever, and this one for it.
        _terminate_children()
        raise
    return [readings.get(one.name) or read_input(one) for one in inputs]


def _answers(files: Sequence[Input], count: int) -> dict[str, Reading]:
    """Read by this process too, which takes the last files that no other has begun."""
    parts = [files[at : at + _FILES_AT_ONCE] for at in range(0, len(files), _FILES_AT_ONCE)]
    with ProcessPoolExecutor(count - 1, initializer=_prepare_process) as pool:
        try:
            asked = [(part, pool.submit(_read, part)) for part in parts]
        except OSError as problem:
            # The executor leaves the processes that it did start waiting for work.
            _terminate_children()
            raise EndedEarlyError(
                f"a process of the audit cannot be started: {problem.strerror}; try --jobs 1"
            ) from None
        try:
            taken = [_read(part) for part, answer in reversed(asked) if answer.cancel()]
            given = [answer.result() for _, answer in asked if not answer.cancelled()]
            return {one.name: one for part in (*taken, *given) for one in part}
        except BrokenProcessPool:
            raise EndedEarlyError("a process of the audit ended early; try --jobs 1") from None
        finally:
            for _, answer in asked:
                answer.cancel()


def _read(files: Sequence[Input]) -> list[Reading]:
    return [read_input(one) for one in files]


def _terminate_children() -> None:
    for process in multiprocessing.active_children():
        process.terminate()
        process.join()


def _is_plain_file(one: Input) -> bool:
    """Whether another process reads the same from it. Pipes and open files belong to this one."""
    if one.refused or one.name == STANDARD_INPUT or one.name.startswith(("/dev/", "/proc/")):
        return False
    return os.path.isfile(one.name)  # noqa: PTH113  strings: thousands of files


def _prepare_process() -> None:
    """Leave Ctrl-C to the program, which then takes no more answers; end when it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
