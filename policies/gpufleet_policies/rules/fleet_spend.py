"""Spend of a whole fleet: bounds, budgets."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from gpufleet.cluster import FleetFacts, PoolFacts, Provenance
from gpufleet.findings import Finding
from gpufleet.findings.money import MICRO_USD, AmountKind, Money, usd_hour
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.written import written_rule


@written_rule("gpu-spend-unbounded", FleetFacts)
def spend_unbounded(context: RuleContext, fleet: FleetFacts) -> Iterator[Finding]:
    """One violation per fleet, naming every cause."""
    if not fleet.unbounded or not fleet.maximum_spend.is_absent:
        return
    unpriced = [pool for pool in fleet.pools if pool.maximum_spend.is_absent]
    gpus = sum(pool.maximum_nodes * pool.gpus_per_node * pool.gpu_fraction for pool in unpriced)
    yield spend_unbounded.say(
        ", ".join(f"{pool.path} ({pool.name})" for pool in unpriced),
        reasons="; ".join(fleet.unbounded),
        causes=list(fleet.unbounded),
        money=Money(AmountKind.EXPOSURE, None, Fraction(gpus), "unpriced pools at nodes.max"),
    )


@written_rule("gpu-budget-missing", FleetFacts)
def budget_missing(context: RuleContext, fleet: FleetFacts) -> Iterator[Finding]:
    """Neither the spec nor the project's policy settings name a limit."""
    if not fleet.budget_micro_usd.is_absent or context.thresholds.budget_usd_per_hour is not None:
        return
    found, money, suggestion = "no budget is set", None, "..."
    if fleet.maximum_spend.is_known:
        spend = fleet.maximum_spend.value
        found = f"no budget is set, and the fleet can cost {usd_hour(spend)}"
        money = Money(
            AmountKind.EXPOSURE, Fraction(spend), _gpus(fleet.pools), "all pools at nodes.max"
        )
        suggestion = str(-(-spend // MICRO_USD))
    yield budget_missing.say(found=found, suggestion=suggestion, money=money)


@written_rule("gpu-budget-exceeded", FleetFacts)
def budget_exceeded(context: RuleContext, fleet: FleetFacts) -> Iterator[Finding]:
    """The spec's own budget and the one of the policy settings, the smaller of them."""
    limits: list[tuple[Decimal, str]] = []
    if fleet.budget_micro_usd.is_known:
        own = Decimal(fleet.budget_micro_usd.value) / MICRO_USD
        limits.append((own, "the fleet's budget.usdPerHour"))
    if context.thresholds.budget_usd_per_hour is not None:
        limits.append((context.thresholds.budget_usd_per_hour, "the policy's budgetUsdPerHour"))
    if not limits or not fleet.maximum_spend.is_known:
        return
    limit, origin = min(limits)
    spend = fleet.maximum_spend.value
    over = spend - int(limit * MICRO_USD)
    if over <= 0:
        return
    yield budget_exceeded.say(
        price=usd_hour(spend),
        origin=origin,
        bound=limit,
        spend=spend,
        limit_usd=str(limit),
        alternative=_smaller(fleet.pools, over),
        money=Money(AmountKind.EXPOSURE, Fraction(over), Fraction(0), "the part above the budget"),
        provenance=Provenance.DECLARED,
    )


def _gpus(pools: tuple[PoolFacts, ...]) -> Fraction:
    return Fraction(sum(p.maximum_nodes * p.gpus_per_node * p.gpu_fraction for p in pools))


def _smaller(pools: tuple[PoolFacts, ...], over: int) -> str:
    """Remedy: lower nodes.max of the most expensive pool until the fleet is within the budget."""
    priced = [p for p in pools if p.maximum_spend.is_known and p.maximum_nodes > 0]
    if not priced:
        return "raise the budget"
    dearest = max(priced, key=lambda p: p.maximum_spend.value)
    node = Fraction(dearest.maximum_spend.value, dearest.maximum_nodes)
    fewer = -(-over // node)
    fits = dearest.maximum_nodes - int(fewer)
    if fits >= max(1, dearest.minimum_nodes):
        return (
            f"lower {dearest.path}.nodes.max of {dearest.name} from {dearest.maximum_nodes} to "
            f"{fits}, or raise the budget"
        )
    return f"make {dearest.name} ({usd_hour(node)} a node) smaller or cheaper, or raise the budget"
