"""Pools and programs of one cluster that do not work together: the relations of `compile`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpufleet.cluster.claims import DeviceClaim
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.cluster.subject import Subject
from gpufleet.contract.contract_fact import chain
from gpufleet.contract.relation import Broken
from gpufleet.findings import Finding, Level, finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext, once
from gpufleet.rules.rule import Rule
from gpufleet_policies.configurations.codes import RELATIONS
from gpufleet_policies.rules.pool_money import nodes_money, smallest
from gpufleet_policies.rules.written import rule_rows, written_rule


@once
def _relations(context: RuleContext) -> Mapping[str, tuple[Broken, ...]]:
    # Only pools and programs need the models of declarations, which take long to import.
    from gpufleet.contract.validate import broken
    from gpufleet_policies.rules.cluster_model import cluster_of

    found: dict[str, tuple[Broken, ...]] = {}
    for one in broken(cluster_of(context)):
        found[one.code] = (*found.get(one.code, ()), one)
    return found


def _relation(code: str) -> Rule:
    """The rule of a relation, all of whose texts are in its row."""

    def check(context: RuleContext, subject: Program | NodePool | DeviceClaim) -> Iterator[Finding]:
        for one in _relations(context).get(code, ()):
            if one.at is not None and _same(one.at, subject):
                yield _finding(context, one)

    check.__doc__ = rule_rows()[code]["detail"]
    return replace(written_rule(code, (Program, NodePool, DeviceClaim))(check), group=RELATIONS)


def _same(at: Subject, subject: Subject) -> bool:
    """Whether a relation is reported at an object. Pools are completed: other data, same place."""
    same = type(at) is type(subject) and at.locator == subject.locator
    return same and getattr(at, "name", "") == getattr(subject, "name", "")


def _finding(context: RuleContext, one: Broken) -> Finding:
    """At a pool with what its nodes cost while they are useless."""
    pool = one.at if isinstance(one.at, NodePool) else None
    money = None
    if pool is not None and pool.is_certainly_gpu:
        money = nodes_money(context, pool, smallest(pool), AmountKind.EXPOSURE)
    facts = [fact for fact in one.facts if fact is not None]
    last = facts[-1]
    return finding(
        where=one.place,
        found=one.message,
        limit=f"{last.fact} ({last.source})",
        alternative=one.fix,
        money=money,
        evidence={**one.evidence, "facts": chain(*facts)},
        at_most=Level.MANDATORY if one.certain else Level.ADVISORY,
    )


RULES = tuple(
    _relation(code) for code, row in rule_rows().items() if row.get("family") == "relations"
)
"""The rules of relations, in the order of their rows."""
