"""The HiGHS solver through scipy: optional (extra `planner`), imported when it is first needed."""

import ctypes
import importlib
import importlib.util
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

INFINITY = float("inf")

_NODES = 20_000
"""Branch-and-bound nodes of one run. A count, not a time: a slow machine gives the same answer."""
_SECONDS = 60.0
"""Time limit of very large problems; reaching it is reported, because it can change the answer."""
_STATUS = {0: "optimal", 1: "feasible", 2: "infeasible"}


@dataclass(slots=True)
class IntegerProgram:
    """Minimise the cost of columns of whole numbers of at least 0, each row between two bounds."""

    costs: list[int] = field(default_factory=list[int])
    uppers: list[float] = field(default_factory=list[float])
    """Upper bounds of the columns."""
    rows: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    """Column -> coefficient."""
    lowers: list[float] = field(default_factory=list[float])
    limits: list[float] = field(default_factory=list[float])
    """Upper bounds of the rows."""

    def column(self, cost: int = 0, upper: float = INFINITY) -> int:
        """Add a column; gives its number."""
        self.costs.append(cost)
        self.uppers.append(upper)
        return len(self.costs) - 1

    def row(
        self, coefficients: dict[int, int], lower: float = -INFINITY, upper: float = INFINITY
    ) -> None:
        """Add a row `lower <= sum <= upper`."""
        self.rows.append(coefficients)
        self.lowers.append(lower)
        self.limits.append(upper)

    @property
    def size(self) -> int:
        """Coefficients that are not zero."""
        return sum(len(row) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Solved:
    """The solution of an integer program."""

    status: str
    """`optimal`, `feasible` (stopped before the proof), `infeasible` or `stopped` (nothing yet)."""
    values: tuple[float, ...]
    """Value of each column; empty without a solution."""
    bound: float
    """Proven least cost; 0 where nothing is known."""


@cache
def available() -> bool:
    """Whether scipy is installed."""
    return importlib.util.find_spec("scipy") is not None


def solve(program: IntegerProgram, *, gap: float = 0.0) -> Solved:
    """The solution of least cost.

    `gap` is the relative distance from the bound at which the solver stops. Raises
    ModuleNotFoundError without scipy (see `available`).
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
    with _silent():
        found: Any = optimize.milp(
            numpy.array(program.costs, dtype=float) * scale,
            integrality=numpy.ones(len(program.costs)),
            bounds=optimize.Bounds(0, numpy.array(program.uppers)),
            constraints=optimize.LinearConstraint(matrix, program.lowers, program.limits),
            options={"mip_rel_gap": gap, "node_limit": _NODES, "time_limit": _SECONDS},
        )
    status = _STATUS.get(int(found.status), "stopped")
    if found.x is None:
        return Solved("infeasible" if status == "infeasible" else "stopped", (), 0.0)
    bound = found.fun if status == "optimal" and gap == 0.0 else found.mip_dual_bound
    return Solved(status, tuple(float(v) for v in found.x), float(bound or 0.0) / scale)


@contextmanager
def _silent() -> Generator[None]:
    """Keep the notes that HiGHS always prints out of the process's standard output, which other
    programs parse."""
    output, saved = 1, os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, output)
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(saved, output)
        os.close(nowhere)
        os.close(saved)
