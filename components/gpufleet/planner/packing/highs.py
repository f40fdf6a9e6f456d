"""The HiGHS solver through scipy: optional (extra `planner`), imported when it is first needed."""

import importlib
import importlib.util
from functools import cache
from typing import Any

from gpufleet.planner.packing.program import Program, Solved

_NODES = 20_000
"""Branch-and-bound nodes of one run. A count, not a time, so that a slow machine answers alike."""
_SECONDS = 60.0
"""Last resort on very large problems; reaching it is reported, since it may change the answer."""
_STATUS = {0: "optimal", 1: "feasible", 2: "infeasible"}


@cache
def available() -> bool:
    """Whether scipy is installed."""
    return importlib.util.find_spec("scipy") is not None


def solve(
    program: Program, *, relaxed: bool = False, gap: float = 0.0, seconds: float = _SECONDS
) -> Solved:
    """The cheapest answer, or with `relaxed` that of the linear relaxation.

    `gap` is the relative distance from the bound at which to stop. Raises ModuleNotFoundError
    without scipy (`available` tells).
    """
    optimize: Any = importlib.import_module("scipy.optimize")
    sparse: Any = importlib.import_module("scipy.sparse")
    numpy: Any = importlib.import_module("numpy")
    if not program.costs:
        fits = all(low <= 0 for low in program.lowers) and all(u >= 0 for u in program.limits)
        return Solved("optimal" if fits else "infeasible", (), 0.0)
    heights: list[int] = []
    columns: list[int] = []
    entries: list[int] = []
    for number, row in enumerate(program.rows):
        heights += [number] * len(row)
        columns += row.keys()
        entries += row.values()
    matrix = sparse.csr_array(
        (entries, (heights, columns)), shape=(len(program.rows), len(program.costs))
    )
    largest = max(program.costs) or 1
    scale = 1000.0 / largest  # the solver's tolerances are absolute: prices near 1,000 suit them
    found: Any = optimize.milp(
        numpy.array(program.costs, dtype=float) * scale,
        integrality=numpy.array([int(w and not relaxed) for w in program.whole]),
        bounds=optimize.Bounds(0, numpy.array(program.uppers)),
        constraints=optimize.LinearConstraint(matrix, program.lowers, program.limits),
        options={"mip_rel_gap": gap, "node_limit": _NODES, "time_limit": seconds},
    )
    status = _STATUS.get(int(found.status), "stopped")
    if found.x is None:
        return Solved("infeasible" if status == "infeasible" else "stopped", (), 0.0)
    bound = found.fun if relaxed else found.mip_dual_bound
    if status == "optimal" and not relaxed and gap == 0.0:
        bound = found.fun
    return Solved(status, tuple(float(v) for v in found.x), float(bound or 0.0) / scale)
