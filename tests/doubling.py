"""Whether a run grows linearly: twice as much takes at most two and a half times as long.

Runs on four times as much are compared, so that noise counts once for two doublings.
"""

import gc
import time
from collections.abc import Callable

RATIO = 2.5
"""Limit of one doubling. A linear run takes twice as long, a quadratic one four times."""
_TIMES = 4
_LIMIT = RATIO**2
_ROUNDS = 8


def assert_linear(run: Callable[[int], object], count: int) -> None:
    """Compare the shortest runs of `count` and of four times as much, by processor time.

    Short and long runs take turns, and a round is repeated until the shortest ones agree: other
    work on the machine slows some runs by more than the limit, a quadratic one is slow in each.

    Raises:
        AssertionError: In none of eight rounds were the shortest runs within the limit.
    """
    short = long = float("inf")
    for _ in range(_ROUNDS):
        short = min(short, seconds(run, count))
        long = min(long, seconds(run, _TIMES * count))
        if long < _LIMIT * short:
            return
    raise AssertionError(f"{count}: {short:.3f} s, {_TIMES * count}: {long:.3f} s")


def seconds(run: Callable[[int], object], count: int) -> float:
    """Processor time of one run, without collections of the whole heap in the middle of it."""
    gc.collect()
    gc.disable()
    begun = time.process_time()
    try:
        run(count)
        return time.process_time() - begun
    finally:
        gc.enable()
