"""A linear program over whole numbers, as plain data: minimise cost, rows bounded on both sides."""

from dataclasses import dataclass, field

INFINITY = float("inf")


@dataclass(slots=True)
class Program:
    """Columns with a cost and an upper bound (lower bounds are 0), rows as sparse coefficients."""

    costs: list[int] = field(default_factory=list[int])
    uppers: list[float] = field(default_factory=list[float])
    whole: list[bool] = field(default_factory=list[bool])
    """Whether the column must be a whole number."""
    rows: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    """Column -> coefficient."""
    lowers: list[float] = field(default_factory=list[float])
    limits: list[float] = field(default_factory=list[float])
    """Upper bounds of the rows."""
    names: list[str] = field(default_factory=list[str])
    """What each row says, for people."""

    def column(self, cost: int = 0, upper: float = INFINITY, *, whole: bool = True) -> int:
        """Add a column; gives its number."""
        self.costs.append(cost)
        self.uppers.append(upper)
        self.whole.append(whole)
        return len(self.costs) - 1

    def row(
        self,
        coefficients: dict[int, int],
        lower: float = -INFINITY,
        upper: float = INFINITY,
        name: str = "",
    ) -> int:
        """Add a row `lower <= sum <= upper`; gives its number."""
        self.rows.append(coefficients)
        self.lowers.append(lower)
        self.limits.append(upper)
        self.names.append(name)
        return len(self.rows) - 1

    @property
    def size(self) -> int:
        """Coefficients that are not zero."""
        return sum(len(row) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Solved:
    """An answer to a program."""

    status: str
    """`optimal`, `feasible` (stopped before the proof), `infeasible` or `stopped` (nothing yet)."""
    values: tuple[float, ...]
    """By column; empty when there is none."""
    bound: float
    """Proven least cost; 0 where nothing is known."""
