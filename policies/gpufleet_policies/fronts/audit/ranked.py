"""The objects of an audit, the costliest first, each with one remedy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.findings import Finding
from gpufleet.findings.money import HOURS_PER_MONTH, AmountKind

_KINDS = (AmountKind.WASTE, AmountKind.STANDING, AmountKind.EXPOSURE)


@dataclass(frozen=True, slots=True)
class RankedObject:
    """One object with its findings, the costliest first."""

    file: str
    object: str
    findings: tuple[Finding, ...]

    def dearest(self) -> tuple[int, AmountKind] | None:
        """The first of waste, standing cost and exposure that has a price, in USD a month: the
        largest of its findings, as they are about the same GPUs."""
        amounts = ((max(_amounts(self.findings, kind), default=None), kind) for kind in _KINDS)
        return next(((one, kind) for one, kind in amounts if one is not None), None)


def ranked(findings: Iterable[Finding]) -> list[RankedObject]:
    """Objects by waste in USD a month, then by wasted GPU-hours, then by what they cost and can
    cost, then in the order of the files."""
    objects: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        objects.setdefault((one.file, str(one.locator)), []).append(one)
    rows = [
        RankedObject(file, name, tuple(sorted(found, key=lambda one: _rank([one]), reverse=True)))
        for (file, name), found in objects.items()
    ]
    return sorted(rows, key=lambda row: _rank(row.findings), reverse=True)


def _rank(findings: Sequence[Finding]) -> tuple[float, ...]:
    hours = [
        one.money.gpus
        for one in findings
        if one.money is not None and one.money.kind is AmountKind.WASTE
    ]
    amounts = [max(_amounts(findings, kind), default=0) for kind in _KINDS]
    return amounts[0], float(max(hours, default=Fraction(0))) * HOURS_PER_MONTH, *amounts[1:]


def _amounts(findings: Iterable[Finding], kind: AmountKind) -> list[int]:
    return [
        amount
        for one in findings
        if one.money is not None
        and one.money.kind is kind
        and not one.money.of_all
        and (amount := one.money.usd_per_month) is not None
    ]
