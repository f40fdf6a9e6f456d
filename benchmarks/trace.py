"""Tasks placed one by one (`gpufleet pack --trace`) on a cluster of 1,213 nodes, by the
fragmentation policy and by best fit. The tasks are made by dividing full nodes: an allocation of
100 % is possible. At a load of 1.3 more tasks of the same kinds arrive."""

import time

from gpufleet_planner.trace.place import place_trace
from tests.planner.trace.best_fit import POLICIES
from tests.planner.trace.checker import broken
from tests.planner.trace.generated_trace import generated_trace, overfull

NODES = 1213


def measure() -> list[str]:
    """Rows of the report. Raises AssertionError on placements that are not possible."""
    rows = [
        "| load | policy | tasks | placed | GPU allocated | placements per CPU second |",
        "|---|---|---|---|---|---|",
    ]
    for load in (1.0, 1.3):
        trace = overfull(generated_trace(7, NODES), load, 7)
        for name, policy in POLICIES.items():
            start = time.process_time()
            run = place_trace(trace, policy=policy)
            rate = len(trace.tasks) / (time.process_time() - start)
            assert not broken(trace, run, departures=True)
            placed = sum(p.cause is None for p in run.placements)
            allocated = run.allocated_milli / run.capacity_milli
            rows.append(
                f"| {load} | {name} | {len(trace.tasks):,} | {placed:,} | "
                f"{allocated:.2%} | {rate:,.0f} |"
            )
    return rows
