"""Sum of the money of a run's findings, each dollar counted once: the only such sum.

Findings about one object overlap: its largest one of each kind of money counts. A workload that can
run on only one pool is charged first, and the pool with the rest of its money; where several pools
fit it, the pools are charged first. The rest is never more than the cost of the machines of these
pools.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from gpufleet.findings import Finding
from gpufleet.findings.money import HOURS_PER_MONTH, MICRO_USD, AmountKind
from gpufleet_policies.money.stack import StackSpend


@dataclass(frozen=True, slots=True)
class MoneyClaim:
    """Cost of one object, by the findings about it."""

    object: str
    """Names one object of the run: a file and how messages name it."""
    amount: int
    """The largest of its findings, in one unit for all claims."""
    pools: tuple[str, ...] = ()
    """For a workload: the pools it may run on, named as their own claims. Empty: unknown."""
    is_pool: bool = False
    machines: tuple[str, ...] = ()
    """Pools whose machines the amount is for, as `bounds` names them. Empty: not known."""


@dataclass(frozen=True, slots=True)
class Totals:
    """USD a month by kind of money; None where no finding of that kind has a price."""

    waste: int | None
    standing: int | None
    exposure: int | None


def totals(findings: Iterable[Finding], spend: StackSpend | None = None) -> Totals:
    """One maximum per object and kind, attributed as the module describes.

    The three kinds are never added to each other, and money of everything declared together is
    never added to that of single objects. `spend` limits the cost of the pools' machines.
    """
    largest: dict[AmountKind, dict[tuple[str, str], tuple[int, tuple[str, ...]]]] = {}
    for one in findings:
        money = one.money
        amount = None if money is None else money.usd_per_month
        if money is None or amount is None or money.of_all:
            continue
        objects = largest.setdefault(money.kind, {})
        key = (one.file, str(one.locator))
        held = objects.get(key)
        if held is None or amount > held[0]:
            objects[key] = (amount, one.beneath)
    bounds = {} if spend is None else _bounds(spend)
    return Totals(
        *(
            _total(largest.get(kind), bounds)
            for kind in (AmountKind.WASTE, AmountKind.STANDING, AmountKind.EXPOSURE)
        )
    )


def _bounds(spend: StackSpend) -> dict[str, int]:
    """Object that declares pools -> USD a month that they can cost; left out: no bound is known."""
    found: dict[str, int | None] = {}
    for row in spend.pools:
        before = found.get(row.object, 0)
        if before is None or row.exposure is None:
            found[row.object] = None
        else:
            found[row.object] = before + row.exposure
    return {
        name: ceil(micro * HOURS_PER_MONTH / MICRO_USD)
        for name, micro in found.items()
        if micro is not None
    }


def _total(
    objects: Mapping[tuple[str, str], tuple[int, tuple[str, ...]]] | None,
    bounds: Mapping[str, int],
) -> int | None:
    if not objects:
        return None
    beneath = {pool for _, pools in objects.values() for pool in pools}
    ids: dict[str, list[str]] = {}
    for file, name in objects:
        if name in beneath:
            ids.setdefault(name, []).append(f"{file}|{name}")
    claims = [
        MoneyClaim(
            object=f"{file}|{name}",
            amount=amount,
            pools=tuple(one for pool in pools for one in ids.get(pool, [pool])),
            is_pool=name in beneath,
            machines=pools or ((name,) if name in bounds else ()),
        )
        for (file, name), (amount, pools) in objects.items()
    ]
    return sum(attributed(claims, bounds).values())


def attributed(
    claims: Iterable[MoneyClaim], bounds: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Object -> the part of its money that is not attributed to another object; together all of it.

    Several claims of one object count as its largest. Never more than the sum of all claims, never
    two objects for the same machines, and for machines whose pools are all in `bounds` never more
    than these; without bounds never less than the largest claim.
    """
    largest: dict[str, MoneyClaim] = {}
    for claim in claims:
        held = largest.get(claim.object)
        if held is None or claim.amount > held.amount:
            largest[claim.object] = claim
    pools = {name: claim.amount for name, claim in largest.items() if claim.is_pool}
    counted: dict[str, int] = {}
    free = dict(pools)
    shared: list[MoneyClaim] = []
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
    room = dict(bounds or {})
    return {name: _within(largest[name], amount, room) for name, amount in counted.items()}


def _beyond(claim: MoneyClaim, free: dict[str, int]) -> int:
    """Cost of a workload beyond the money attributed to its pools."""
    left = claim.amount
    for pool in dict.fromkeys(claim.pools):
        taken = min(left, free.get(pool, 0))
        left -= taken
        free[pool] = free.get(pool, 0) - taken
    return left


def _within(claim: MoneyClaim, amount: int, room: dict[str, int]) -> int:
    """The part of an amount that the machines it is for can still cost."""
    if not claim.machines or any(pool not in room for pool in claim.machines):
        return amount
    left = amount
    for pool in dict.fromkeys(claim.machines):
        taken = min(left, room[pool])
        left -= taken
        room[pool] -= taken
    return amount - left
