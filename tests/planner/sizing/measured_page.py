"""`python -m tests.planner.sizing.measured_page` writes docs/sizing-measured.md."""

from pathlib import Path

from tests.planner.sizing.load_points import POINTS, load_table
from tests.planner.sizing.measurements import ROWS, memory_errors, memory_table
from tests.planner.sizing.speed_measurements import speed_table

PAGE = Path(__file__).parents[3] / "docs" / "sizing-measured.md"
HEAD = """# Sizing: measured and computed

Written by `make generate`; [sizing](sizing.md) has the formulas.

## Load tests that no range is fitted to

Computed of measured; the last column is measured by computed throughput.
"""
MEMORY = """
## Memory

Compared is what the framework's counter shows. Median error {:.1f} %, mean {:.1f} %.
"""
SPEED = """
## Saturated throughput

Output tokens per second of a TensorRT-LLM server with 2,048 tokens in and 128 out, FP8 cache
(NVIDIA/TensorRT-LLM @ 00f3768, perf-overview.md). The FP4 rows fix the FP4 constants, so they
do not test them.
"""


def text() -> str:
    """The page: load tests that are in no fit, memory and saturated speed."""
    reasons = [f"* {row.case}: {row.why}." for row in ROWS if row.why]
    errors = MEMORY.format(*(100 * error for error in memory_errors()))
    lines = [HEAD, *load_table(point for point in POINTS if point.apart)]
    lines += [errors, *memory_table(), "", *reasons, SPEED, *speed_table()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
