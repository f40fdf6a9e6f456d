"""Settling what depends on the whole cluster: at every change, and again when it could not be."""

import threading
from collections.abc import Callable

import urllib3

from gpufleet_sandbox.operands.api import ApiError
from gpufleet_sandbox.operands.journal import log

RETRY_SECONDS = 0.5


class Settling:
    """Calls `settle` after a change, and every half second until the API server lets it be done.

    Args:
        name: What the journal calls it.
        settle: Writes what the cluster deserves now; does nothing when that is there already.
    """

    def __init__(self, name: str, settle: Callable[[], None]) -> None:
        self._name, self._settle = name, settle
        self._lock = threading.Lock()
        self._waiting = False

    def changed(self) -> None:
        """Something changed."""
        try:
            self._settle()
        except (ApiError, urllib3.exceptions.HTTPError, OSError) as problem:
            self._later(f"status not written: {problem}")

    def _later(self, reason: str) -> None:
        with self._lock:
            if self._waiting:
                return
            self._waiting = True
        log(self._name, f"{reason}; trying again in {RETRY_SECONDS:g} s")
        timer = threading.Timer(RETRY_SECONDS, self._again)
        timer.daemon = True
        timer.start()

    def _again(self) -> None:
        with self._lock:
            self._waiting = False
        self.changed()
