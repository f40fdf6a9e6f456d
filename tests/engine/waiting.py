"""Waiting for what a cluster makes true: no test assumes that it is so already."""

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

Answer = TypeVar("Answer")
SECONDS = 180.0
"""What the most loaded machine needs; on an idle one the answer is there in one or two."""
PAUSE_SECONDS = 0.05


def until(found: Callable[[], Answer], what: object = "", seconds: float = SECONDS) -> Answer:
    """The first true answer, or a failure.

    Args:
        found: What is asked again and again.
        what: What was waited for; if it can be called, its answer says what is there instead.
        seconds: How long at the most. Default 180.
    """
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(PAUSE_SECONDS)
    return answer
