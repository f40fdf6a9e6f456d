"""Waiting for what a cluster makes true: no test assumes that it is so already."""

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

Answer = TypeVar("Answer")
SECONDS = 180.0
"""Maximum time on a loaded machine; on an idle one the result is there in one or two seconds."""
PAUSE_SECONDS = 0.05


def until(found: Callable[[], Answer], what: object = "", seconds: float = SECONDS) -> Answer:
    """The first true result, or a failure.

    Args:
        found: Condition that is evaluated repeatedly.
        what: Description; if it can be called, its result is the present state instead.
        seconds: Maximum wait. Default 180.
    """
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(PAUSE_SECONDS)
    return answer
