"""Waste of workloads and of the pools under them, each dollar counted once.

Findings about one object overlap: its largest one counts. A workload that can run on one pool only
answers for its waste, and the pool for what is left of its own; where several pools would take it,
the pools answer first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WasteClaim:
    """What the findings about one object say it wastes."""

    object: str
    """Names one object of the run: a file and how messages name it."""
    amount: int
    """The largest of its findings, in one unit for all claims."""
    pools: tuple[str, ...] = ()
    """Of a workload: the pools it may run on, named as their own claims. Empty: none is known."""
    is_pool: bool = False


def attributed(claims: Iterable[WasteClaim]) -> dict[str, int]:
    """Object -> the part of its waste that no other object answers for; together all of it.

    Several claims of one object count as its largest. Never more than the sum of all claims, never
    less than the largest, and never two objects for the same machines.
    """
    largest: dict[str, WasteClaim] = {}
    for claim in claims:
        held = largest.get(claim.object)
        if held is None or claim.amount > held.amount:
            largest[claim.object] = claim
    pools = {name: claim.amount for name, claim in largest.items() if claim.is_pool}
    counted: dict[str, int] = {}
    free = dict(pools)
    shared: list[WasteClaim] = []
    for name, claim in largest.items():
        if claim.is_pool:
            continue
        under = [pool for pool in dict.fromkeys(claim.pools) if pool in pools]
        if len(claim.pools) == 1 and under:
            counted[name] = claim.amount
            free[under[0]] = max(0, free[under[0]] - claim.amount)
        elif under:
            shared.append(claim)
        else:
            counted[name] = claim.amount
    counted |= free
    for claim in shared:
        counted[claim.object] = _beyond(claim, free)
    return counted


def _beyond(claim: WasteClaim, free: dict[str, int]) -> int:
    """What a workload wastes beyond what its pools answer for already."""
    left = claim.amount
    for pool in dict.fromkeys(claim.pools):
        taken = min(left, free.get(pool, 0))
        left -= taken
        free[pool] = free.get(pool, 0) - taken
    return left


def total(counted: Mapping[str, int]) -> int:
    """Everything together."""
    return sum(counted.values())
