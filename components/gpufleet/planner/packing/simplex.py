"""Exact linear relaxation in rational numbers: a lower bound that needs no solver and no trust.

A covering problem `min c.x, A x >= b, x >= 0` with costs of at least 0 has the dual `max b.u,
A'u <= c, u >= 0`, for which u = 0 is a feasible start: one phase of the simplex method is enough.
Its answer bounds the cost from below; its prices give the primal x.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The relaxed optimum."""

    value: Fraction
    quantities: tuple[Fraction, ...]
    """x: how much of each column."""
    prices: tuple[Fraction, ...]
    """u: what one more unit of each row's demand costs."""


def cover(
    columns: list[dict[int, int]],
    costs: list[int],
    demand: list[int],
    *,
    backwards: bool = False,
) -> Relaxation | None:
    """Cover every row's demand with columns (row -> units, may be negative) at least cost.

    Costs must be at least 0. None: no amount of the columns covers the demand. Bland's rule, so it
    ends and always the same way; `backwards` applies it from the other end, which may give another
    of several optima. Meant for up to some thousand entries.
    """
    if any(cost < 0 for cost in costs):
        raise ValueError("costs must be at least 0")
    rows = len(demand)
    # One tableau line per column of the primal: variables u (rows), then slacks, then the limit.
    width = rows + len(columns) + 1
    table: list[list[Fraction]] = []
    for number, column in enumerate(columns):
        line = [Fraction(0)] * width
        for row, units in column.items():
            line[row] = Fraction(units)
        line[rows + number] = Fraction(1)
        line[-1] = Fraction(costs[number])
        table.append(line)
    basis = [rows + number for number in range(len(columns))]
    goal = [Fraction(-d) for d in demand] + [Fraction(0)] * (len(columns) + 1)
    order = range(width - 2, -1, -1) if backwards else range(width - 1)
    while True:
        entering = next((j for j in order if goal[j] < 0), None)
        if entering is None:
            break
        leaving: int | None = None
        least: tuple[Fraction, int] | None = None
        for i, line in enumerate(table):
            if line[entering] > 0:
                tie = -basis[i] if backwards else basis[i]
                ratio = (line[-1] / line[entering], tie)
                if least is None or ratio < least:
                    least, leaving = ratio, i
        if leaving is None:
            return None
        _pivot(table, goal, leaving, entering)
        basis[leaving] = entering
    prices = [Fraction(0)] * rows
    for i, variable in enumerate(basis):
        if variable < rows:
            prices[variable] = table[i][-1]
    return Relaxation(goal[-1], tuple(goal[rows : rows + len(columns)]), tuple(prices))


def _pivot(table: list[list[Fraction]], goal: list[Fraction], leaving: int, entering: int) -> None:
    line = table[leaving]
    factor = line[entering]
    line = table[leaving] = [value / factor if value else value for value in line]
    used = [j for j, value in enumerate(line) if value]
    for i, other in enumerate(table):
        if i != leaving and other[entering]:
            _subtract(other, line, other[entering], used)
    _subtract(goal, line, goal[entering], used)


def _subtract(
    other: list[Fraction], line: list[Fraction], factor: Fraction, used: list[int]
) -> None:
    for j in used:
        other[j] -= factor * line[j]
