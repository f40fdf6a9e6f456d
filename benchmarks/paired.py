"""Pairs of runs, A B A B ...: a drift of the machine's speed slows both sides equally."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paired:
    """Seconds of each pair."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median of the ratios, pair by pair."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))


def seconds(action: Callable[[], object]) -> float:
    """Wall-clock seconds of one run."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def processor_seconds(process: int) -> float:
    """Seconds of processor time that a running process, all its threads, has used so far."""
    return time.clock_gettime((~process << 3) | 2)  # its CPU-time clock: clock_getcpuclockid(3)


def paired(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    runs: int,
    measured: Callable[[Callable[[], object]], float] = seconds,
) -> Paired:
    """Measure both in turn, after one uncounted run of each. Default: wall-clock seconds."""
    ours()
    theirs()
    pairs = [(measured(ours), measured(theirs)) for _ in range(runs)]
    return Paired(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
