"""Team shares of a whole number of resources, split exactly."""

from collections.abc import Mapping
from fractions import Fraction

ROUNDING = Fraction(1, 10**9)
"""Tolerance of shares that should add up to 1: thirds written as decimals."""


def split(amount: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Whole units for each team: in total never more than `amount`.

    A share is the decimal that the author wrote. Every team gets the whole part of its share; the
    units left by the fractions, together the whole part of amount x all shares, go one each to the
    largest fractions, the earlier team first among equals (largest remainder method). Shares whose
    sum differs from 1 by less than `ROUNDING`, or is larger, are scaled to 1.
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
