"""Fewest bins that hold a demand, each bin filled after one of some patterns: exact, no solver.

GPUs filled with MIG instances are such bins, and nodes filled with sets of whole GPUs. The relaxed
optimum of the patterns, rounded up, is the bound; the whole part of it is taken as it is, and only
the few bins that are left are searched. The search ends at the bound or has tried everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm

from gpufleet.planner.packing.simplex import Relaxation, cover

_STEPS = 20_000
"""Partial fillings looked at before the search gives up with the best it has."""


@dataclass(frozen=True, slots=True)
class Cover:
    """How many bins of each pattern."""

    bins: tuple[int, ...]
    """By pattern."""
    bound: int
    """Bins that are needed at least."""

    @property
    def total(self) -> int:
        """Bins of all patterns."""
        return sum(self.bins)


def cover_demand(patterns: Sequence[tuple[int, ...]], demand: tuple[int, ...]) -> Cover | None:
    """Fewest bins for the demand; None when some demand fits into no pattern.

    A pattern and the demand count units by kind, in the same order. Deterministic. The size of the
    demand hardly matters, that of the pattern list does (28 of a seven-slice GPU: milliseconds).
    A total above the bound is a cover that was found but not proven the smallest.
    """
    best: Cover | None = None
    # Relaxed optima are seldom unique, and some have no whole cover near them: the order of the
    # patterns decides which one is found.
    for turn in range(_TURNS):
        order = _ordered(len(patterns), turn)
        turned = [patterns[i] for i in order]
        columns = [{i: n for i, n in enumerate(pattern) if n} for pattern in turned]
        relaxed = cover(columns, [1] * len(turned), list(demand), backwards=turn % 2 == 1)
        if relaxed is None:
            return None
        found = _near(turned, demand, relaxed, best.total if best else None)
        if found is not None:
            bins = [0] * len(patterns)
            for place, number in zip(order, found.bins, strict=True):
                bins[place] = number
            best = Cover(tuple(bins), found.bound)
        assert best is not None
        if best.total == best.bound:
            break
    return best


_TURNS = 6
"""Relaxed optima whose surroundings are searched."""


def _ordered(size: int, turn: int) -> list[int]:
    order = list(range(size))
    first = size * (turn // 2) // (_TURNS // 2)
    return order[first:] + order[:first]


def _near(
    patterns: Sequence[tuple[int, ...]],
    demand: tuple[int, ...],
    relaxed: Relaxation,
    below: int | None,
) -> Cover | None:
    """The best cover near the relaxed one, if there is one with fewer bins than `below`."""
    bound = ceil(relaxed.value)
    best: Cover | None = None
    for spare in (0, 1, 3, 7):
        base = [max(0, floor(q) - spare) for q in relaxed.quantities]
        rest = _left(patterns, base, demand)
        added = _search(patterns, rest, relaxed.prices, bound - sum(base))
        if added is None and below is None:
            added = _search(patterns, rest, relaxed.prices, bound + 1 - sum(base))
        if added is None and below is None:
            added = _greedy(patterns, rest)
        if added is not None:
            best = Cover(tuple(a + b for a, b in zip(base, added, strict=True)), bound)
            below = best.total
            if below == bound:
                break
        if not any(base):
            break
    return best


def _left(
    patterns: Sequence[tuple[int, ...]], bins: Sequence[int], demand: tuple[int, ...]
) -> tuple[int, ...]:
    return tuple(
        max(0, wanted - sum(n * p[i] for n, p in zip(bins, patterns, strict=True) if n))
        for i, wanted in enumerate(demand)
    )


def _search(
    patterns: Sequence[tuple[int, ...]],
    demand: tuple[int, ...],
    prices: Sequence[Fraction],
    most: int,
) -> list[int] | None:
    """Bins by pattern that cover the demand with at most `most` of them, or None.

    Depth first over the patterns that serve the largest uncovered kind; a demand is dropped when
    its worth at the relaxed prices needs more bins than are left, or it was seen with as many.
    """
    if most < 0:
        return None
    denominator = lcm(*(price.denominator for price in prices))
    weights = [int(price * denominator) for price in prices]
    seen: dict[tuple[int, ...], int] = {}
    bins = [0] * len(patterns)
    steps = 0

    def fill(rest: tuple[int, ...], left: int) -> bool:
        nonlocal steps
        if not any(rest):
            return True
        if sum(w * n for w, n in zip(weights, rest, strict=True)) > left * denominator:
            return False
        if seen.get(rest, -1) >= left or steps > _STEPS:
            return False
        seen[rest] = left
        steps += 1
        # The kind worth most: it leaves least choice.
        kind = max((i for i, n in enumerate(rest) if n), key=lambda i: (weights[i], i))
        options: list[tuple[int, int, tuple[int, ...]]] = []
        for number, pattern in enumerate(patterns):
            if pattern[kind]:
                after = tuple(max(0, n - p) for n, p in zip(rest, pattern, strict=True))
                worth = sum(w * n for w, n in zip(weights, after, strict=True))
                options.append((worth, number, after))
        known: set[tuple[int, ...]] = set()
        for _, number, after in sorted(options):
            if after in known:
                continue
            known.add(after)
            bins[number] += 1
            if fill(after, left - 1):
                return True
            bins[number] -= 1
        return False

    return bins if fill(demand, most) else None


def _greedy(patterns: Sequence[tuple[int, ...]], demand: tuple[int, ...]) -> list[int]:
    """Any cover: again and again the pattern that serves most units of what is left."""
    bins = [0] * len(patterns)
    rest = demand
    while any(rest):
        served = [
            (sum(min(n, p) for n, p in zip(rest, pattern, strict=True)), -number)
            for number, pattern in enumerate(patterns)
        ]
        number = -max(served)[1]
        times = min(
            (n // p for n, p in zip(rest, patterns[number], strict=True) if p and n >= p),
            default=1,
        )
        bins[number] += max(1, times)
        rest = _left([patterns[number]], [max(1, times)], rest)
    return bins
