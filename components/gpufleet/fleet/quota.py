"""Team shares of a whole number of resources, split exactly."""

from collections.abc import Mapping
from fractions import Fraction

ROUNDING = Fraction(1, 10**9)
"""How far shares that are meant to make 1 may miss it: thirds written as decimals."""


def split(amount: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Whole units for each team: never more in all than `amount`.

    A share is taken as the decimal the author wrote. Every team gets the whole part of its share;
    the units the fractions leave, together the whole part of amount x all shares, go one each to
    the largest fractions, the earlier team first where they are equal (largest remainder method).
    Shares that miss 1 by less than `ROUNDING`, or add up to more, are scaled to make 1.
    """
    exact = {team: Fraction(str(share)) for team, share in shares.items()}
    written = sum(exact.values(), Fraction(0))
    whole = written if written > 1 - ROUNDING else Fraction(1)
    due = {team: amount * share / whole for team, share in exact.items()}
    units = {team: int(part) for team, part in due.items()}
    left = int(sum(due.values(), Fraction(0))) - sum(units.values())
    by_fraction = sorted(due, key=lambda team: units[team] - due[team])
    for team in by_fraction[:left]:
        units[team] += 1
    return units
