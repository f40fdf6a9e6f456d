"""One MIG decision, any request on any GPU; the budget is 1 ms in process."""

import random
import statistics

from benchmarks.paired import seconds
from gpufleet.catalogue import load
from gpufleet.partition import place


def measure() -> list[str]:
    """Rows of the report."""
    chance = random.Random(2026)
    geometries = list(load().geometries.values())
    requests = []
    for _ in range(10_000):
        geometry = chance.choice(geometries)
        names = chance.sample(list(geometry.profiles), chance.randint(1, 4))
        requests.append((geometry, {name: chance.randint(1, 4) for name in names}))
    for geometry in geometries:
        place(geometry, {next(iter(geometry.profiles)): 1})
    times = [seconds(lambda g=g, r=r: place(g, r)) for g, r in requests]
    times.sort()
    median, late = statistics.median(times), times[int(len(times) * 0.99)]
    figures = f"{median * 1e6:.0f} us | {late * 1e6:.0f} us | {times[-1] * 1e3:.2f} ms"
    return [
        "| decisions | median | 99 % | slowest |",
        "|---|---|---|---|",
        f"| {len(times):,} | {figures} |",
    ]
