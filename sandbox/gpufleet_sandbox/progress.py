"""Progress output while programs are built and processes start.

On a terminal: one bar per running task, against the measured time. Elsewhere (a log, a pipe): one
plain line when a task starts, every thirty seconds, and when it ends. Always on standard error.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

_LINE_EVERY_SECONDS = 30.0


class ProgressTask(Protocol):
    """One thing that takes time."""

    def detail(self, text: str) -> None:
        """Its present step."""
        ...

    def done(self, text: str) -> None:
        """Success; `text` is the result."""
        ...

    def failed(self, text: str) -> None:
        """It ended badly."""
        ...


class Progress(Protocol):
    """Target of the sandbox's reports. Safe to call from several threads."""

    def note(self, text: str) -> None:
        """Write one line."""
        ...

    def task(self, name: str, seconds: float) -> ProgressTask:
        """Begin a task with an expected time in seconds (0: unknown)."""
        ...


def duration(seconds: float) -> str:
    """`8 s`, `3 min 20 s`."""
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


class _SilentTask:
    def detail(self, text: str) -> None:
        del text

    done = failed = detail


class SilentProgress:
    """No output: for tests and programs."""

    def note(self, text: str) -> None:
        """Drop the line."""
        del text

    def task(self, name: str, seconds: float) -> ProgressTask:
        """A task without display."""
        del name, seconds
        return _SilentTask()


class _PlainTask:
    def __init__(self, progress: "PlainProgress", name: str, seconds: float) -> None:
        self._progress, self._name, self._seconds = progress, name, seconds
        self._begun = self._last = time.monotonic()
        self._said_start = False

    def detail(self, text: str) -> None:
        now = time.monotonic()
        if not self._said_start:
            # Printed at the first step: a task that is ready at once needs one line, not two.
            self._said_start = True
            about = f" (about {duration(self._seconds)})" if self._seconds else ""
            self._progress.note(f"{self._name}: {text}{about}")
        elif now - self._last >= _LINE_EVERY_SECONDS:
            self._last = now
            passed = now - self._begun
            left = f", about {duration(self._seconds - passed)} left"
            known = left if self._seconds > passed else ""
            self._progress.note(f"{self._name}: {duration(passed)} so far{known}, {text}")

    def done(self, text: str) -> None:
        self._progress.note(f"{self._name}: {text} ({duration(time.monotonic() - self._begun)})")

    def failed(self, text: str) -> None:
        self._progress.note(f"{self._name}: FAILED: {text}")


class PlainProgress:
    """Lines of text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def note(self, text: str) -> None:
        """Write one line."""
        with self._lock:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def task(self, name: str, seconds: float) -> ProgressTask:
        """A task that reports in lines."""
        return _PlainTask(self, name, seconds)


@contextmanager
def terminal_progress() -> Iterator[Progress]:
    """Progress for a command: bars when standard error is a terminal, else plain lines."""
    if not sys.stderr.isatty():
        yield PlainProgress(sys.stderr)
        return
    from gpufleet_sandbox.progress_bars import bars

    with bars() as progress:
        yield progress
