"""What the findings of an audit come to, without counting any money twice."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet_policies.money.attribution import WasteClaim, attributed, total

Objects = dict[tuple[str, str], tuple[int, tuple[str, ...]]]
"""File and object -> its largest finding, and the pools under it."""


@dataclass(frozen=True, slots=True)
class Totals:
    """USD a month by kind of money; None where no finding of that kind has a price."""

    waste: int | None
    standing: int | None
    exposure: int | None


def totals(findings: Iterable[Finding]) -> Totals:
    """One maximum per object and kind, because findings about one object overlap.

    Waste of a workload and of the pools under it is attributed as `money.attribution` says. The
    three kinds are never added to each other.
    """
    largest: dict[AmountKind, Objects] = {}
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
    return Totals(
        _attributed(largest.get(AmountKind.WASTE)),
        _sum(largest.get(AmountKind.STANDING)),
        _sum(largest.get(AmountKind.EXPOSURE)),
    )


def _sum(objects: Objects | None) -> int | None:
    return sum(amount for amount, _ in objects.values()) if objects else None


def _attributed(objects: Objects | None) -> int | None:
    if not objects:
        return None
    beneath = {pool for _, pools in objects.values() for pool in pools}
    ids: dict[str, list[str]] = {}
    for file, name in objects:
        if name in beneath:
            ids.setdefault(name, []).append(f"{file}|{name}")
    claims = [
        WasteClaim(
            object=f"{file}|{name}",
            amount=amount,
            pools=tuple(one for pool in pools for one in ids.get(pool, [pool])),
            is_pool=name in beneath,
        )
        for (file, name), (amount, pools) in objects.items()
    ]
    return total(attributed(claims))
