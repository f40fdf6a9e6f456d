"""A progress line on standard error while a command works for a long time."""

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

_AT_TERMINAL, _ELSEWHERE = 2.0, 120.0
"""Seconds without output before the first line, for a terminal and for a log."""
_subject: list[str] = []


def at_work(text: str) -> None:
    """Set the present step, such as `file 12 of 400`: it is part of the next line."""
    _subject[:] = [text]


@contextmanager
def sign_of_life(command: str, stream: TextIO | None = None) -> Generator[None]:
    """Write `gpufleet COMMAND: at work for 2 s` while the context lasts: the first line after two
    seconds (120 where standard error is not a terminal), each further one after twice the time."""
    target = stream or sys.stderr
    over = threading.Event()
    first = _AT_TERMINAL if target.isatty() else _ELSEWHERE

    def show() -> None:
        begun, pause = time.monotonic(), first
        while not over.wait(pause):
            passed = round(time.monotonic() - begun)
            detail = f", {_subject[0]}" if _subject else ""
            target.write(f"gpufleet {command}: at work for {passed} s{detail}\n")
            target.flush()
            pause = max(first, passed)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
