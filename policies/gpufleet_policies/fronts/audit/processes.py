"""Reading many files in several processes, each of which gives back facts and lines."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from gpufleet_policies.fronts.audit.inputs import STANDARD_INPUT, Input
from gpufleet_policies.fronts.audit.reading import Reading, read_input
from gpufleet_policies.fronts.audit.run import EndedEarlyError

_FILES_AT_ONCE = 20  # that a process is given
_LONGEST_WAIT = 0.1  # seconds from Ctrl-C to its effect, while this process waits for another


def read_in_processes(inputs: Sequence[Input], count: int) -> list[Reading]:
    """Contents of the inputs, in their order, read by `count` processes.

    Raises EndedEarlyError when a process cannot be started, or ends without an answer.
    """
    files = [one for one in inputs if _is_plain_file(one)]
    pressed = threading.Event()

    def press(*_: object) -> None:
        # An exception that is raised while a compiled library calls Python (the validator of
        # schemas does) is lost there. Ctrl-C waits for the file; a second one does not.
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    before = signal.signal(signal.SIGINT, press)
    try:
        readings = _answers(files, count, pressed)
    finally:
        signal.signal(signal.SIGINT, before)
    return [readings.get(one.name) or read_input(one) for one in inputs]


def _answers(files: Sequence[Input], count: int, pressed: threading.Event) -> dict[str, Reading]:
    """Read by this process too, which takes the last files; the others have two parts each."""
    parts = deque(files[at : at + _FILES_AT_ONCE] for at in range(0, len(files), _FILES_AT_ONCE))
    asked: deque[Future[list[Reading]]] = deque()
    readings: list[Reading] = []
    with ProcessPoolExecutor(count - 1, initializer=_prepare_process) as pool:
        try:
            while parts or asked:
                while parts and len(asked) < 2 * (count - 1):
                    asked.append(pool.submit(_read, parts.popleft()))
                if pressed.is_set():
                    raise KeyboardInterrupt
                readings += _read(parts.pop()) if parts else []
                while asked and wait((asked[0],), 0 if parts else _LONGEST_WAIT).done:
                    readings += asked.popleft().result()
            return {one.name: one for one in readings}
        except OSError as problem:
            # The executor leaves the processes that it did start waiting for work.
            for process in multiprocessing.active_children():
                process.terminate()
                process.join()
            why = f"a process of the audit cannot be started: {problem.strerror}; try --jobs 1"
            raise EndedEarlyError(why) from None
        except BrokenProcessPool:
            raise EndedEarlyError("a process of the audit ended early; try --jobs 1") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _read(files: Sequence[Input]) -> list[Reading]:
    return [read_input(one) for one in files]


def _is_plain_file(one: Input) -> bool:
    """Whether another process reads the same from it. Pipes and open files belong to this one."""
    if one.refused or one.name == STANDARD_INPUT or one.name.startswith(("/dev/", "/proc/")):
        return False
    return os.path.isfile(one.name)  # noqa: PTH113  strings: thousands of files


def _prepare_process() -> None:
    """Leave Ctrl-C to the parent, which then takes no more results; exit when it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
