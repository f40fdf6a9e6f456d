"""The processes that the host has started, and their common end.

Children stay in the host's process group on purpose. The engine made that group for us and
signals the whole group when it closes the host, so the signal reaches a child after the host ended.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .interpreter import Interpreter

ENTRY = str(Path(__file__).with_name("__main__.py"))
PATIENCE = 0.25
"""Seconds between the steps of ending a child: request, SIGTERM, SIGKILL."""


class Children:
    """Every running child of this host. Safe to use from any thread."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def start(
        self,
        interpreter: Interpreter,
        arguments: Sequence[str],
        *,
        folder: str,
        variables: Mapping[str, str],
        capture: bool = False,
    ) -> "subprocess.Popen[bytes]":
        """Start this package's entry in a role; `arguments[0]` names it.

        Output goes to the host's own output, which the engine shows, or with `capture` into pipes.

        Raises:
            OSError: the interpreter or the folder cannot be used, or the host is closing.
        """
        output = subprocess.PIPE if capture else None
        with self._lock:
            if self._closed:
                raise OSError("the language host is closing")
            child = subprocess.Popen(
                [interpreter.executable, "-u", ENTRY, *arguments],
                cwd=folder or None,
                env=interpreter.activated(variables),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )
            self._running.add(child)
        return child

    def wait(self, child: "subprocess.Popen[bytes]") -> int:
        """Wait for a child's end; returns its status, negative for a signal."""
        try:
            return child.wait()
        finally:
            with self._lock:
                self._running.discard(child)
            if child.stdin is not None:
                child.stdin.close()

    def end(self, child: "subprocess.Popen[bytes]") -> None:
        """Request a child to exit, and force it; returns within twice `PATIENCE`."""
        _end([child], asked=False)

    def close(self, *, asked: bool) -> None:
        """End every child and start no further one.

        `asked`: they have already received an interrupt, as members of the process group.
        """
        with self._lock:
            self._closed = True
            running = list(self._running)
        _end(running, asked=asked)


def _end(children: "list[subprocess.Popen[bytes]]", *, asked: bool) -> None:
    for step in ([] if asked else [signal.SIGINT]) + [None, signal.SIGKILL]:
        children = [child for child in children if child.poll() is None]
        if not children:
            return
        if step is None:
            _await_all(children)
            continue
        for child in children:
            child.send_signal(step)
    _await_all(children)


def _await_all(children: "list[subprocess.Popen[bytes]]") -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and any(child.poll() is None for child in children):
        time.sleep(0.005)


def end_process_group() -> None:
    """Kill what is left of our process group, ourselves included, if the group is ours.

    For the case that the engine has ended: processes that a program started would otherwise run for
    ever.
    """
    sys.stdout.flush()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
