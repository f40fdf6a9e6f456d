"""compile_fleet of 10, 100 and 1,000 pools; the budget is 0.5 s for 1,000, and linear growth."""

import json
import statistics

from benchmarks.paired import paired, seconds
from benchmarks.specs import fleet
from gpufleet.fleet import fleet_as_dict
from gpufleet.platforms.compiled import compile_data

BUDGET_SECONDS = 0.5


def measure() -> list[str]:
    """Rows of the report."""
    rows = [
        "| pools | compile (median of 7) | against JSON of its result | per pool |",
        "|---|---|---|---|",
    ]
    for pools in (10, 100, 1000):
        spec = fleet(pools, "eks")
        compiled = compile_data(spec)
        assert compiled.fleet is not None
        result = fleet_as_dict(compiled.fleet)
        pairs = paired(
            lambda spec=spec: compile_data(spec), lambda result=result: json.dumps(result), 7
        )
        median = statistics.median(pairs.ours)
        rows.append(
            f"| {pools:,} | {median * 1000:.1f} ms | {pairs.ratio:.1f}x | "
            f"{median / pools * 1e6:.0f} us |"
        )
    cold = seconds(lambda: compile_data(fleet(1000, "eks")))
    rows.append("")
    rows.append(
        f"The budget is {BUDGET_SECONDS} s for 1,000 pools; one more run of all of it took "
        f"{cold:.2f} s."
    )
    return rows
