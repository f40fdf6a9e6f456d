"""One way to repair the same GPUs: findings of waste about one container each propose a number."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind


def with_one_fix(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of one object, with the way out of that which wastes most of the same place."""
    best: dict[str, Finding] = {}
    for one in findings:
        if _wasted(one) and one.waiver is None:
            held = best.get(one.path)
            if held is None or _wasted(one) > _wasted(held):
                best[one.path] = one
    return [_without_fix(one, best.get(one.path)) for one in findings]


def _wasted(one: Finding) -> Fraction:
    """GPUs that are wasted; 0 where it is not about waste."""
    money = one.money
    return money.gpus if money is not None and money.kind is AmountKind.WASTE else Fraction(0)


def _without_fix(one: Finding, first: Finding | None) -> Finding:
    if first is None or first is one or not _wasted(one) or one.waiver is not None:
        return one
    return replace(one, fix=f"see {first.code}: it is about the same GPUs", remediation=())
