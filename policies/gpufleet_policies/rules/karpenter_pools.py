"""Karpenter pools: bounds, consolidation, expiry, interruption."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import FleetFacts, WorkloadFacts
from gpufleet.cluster.pool import KarpenterFacts, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind, Money
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.placement import accepts
from gpufleet_policies.rules.pool_money import nodes_money
from gpufleet_policies.rules.pools import gpu_pools, gpu_workloads
from gpufleet_policies.rules.purpose import is_training
from gpufleet_policies.rules.written import written_rule

_DISRUPTION = "spec.disruption"
_SHORT_SECONDS = 600
"""Empty or underused for less than this, a node of a training pool should not go."""

_SLOW_SECONDS = 3600
"""Longer than this, an empty serving node represents nothing."""


def _dynamic(
    context: RuleContext, subject: NodePool | FleetFacts
) -> Iterator[tuple[NodePool, KarpenterFacts]]:
    for pool in gpu_pools(context, subject):
        if pool.karpenter is not None and not pool.karpenter.static:
            yield pool, pool.karpenter


def _set(pool: KarpenterFacts, **values: str) -> JsonPatch:
    """A patch of keys of `spec.disruption`, which may not be there yet."""
    if pool.disruption_written:
        return tuple(add(value, _DISRUPTION, key) for key, value in values.items())
    return (add(values, _DISRUPTION),)


@written_rule("karpenter-never-consolidates", NodePool)
def never_consolidates(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """`consolidateAfter: Never`, or a budget that is always 0 for empty nodes.

    Absent fields are good defaults and never fire; static pools are never consolidated anyway.
    """
    for pool, karpenter in _dynamic(context, subject):
        if not karpenter.disruption_known:
            continue
        money = nodes_money(context, pool, 1, AmountKind.EXPOSURE)
        if karpenter.consolidate_after.found == "Never":
            yield never_consolidates.say(
                money=money,
                remediation=_set(karpenter, consolidationPolicy="WhenEmpty", consolidateAfter="5m"),
            )
            continue
        budgets = karpenter.budgets.value if karpenter.budgets.is_known else ()
        blocked = [i for i, one in enumerate(budgets) if one.always_zero_for("Empty")]
        if blocked:
            yield never_consolidates.say(case="budget", blocked=blocked, money=money)


@written_rule("karpenter-never-expires", NodePool)
def never_expires(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """`expireAfter: Never`; an absent field means 720 hours."""
    for _, karpenter in _dynamic(context, subject):
        if karpenter.expire_after.found == "Never":
            yield never_expires.say(remediation=(add("720h", "spec.template.spec", "expireAfter"),))


@written_rule("karpenter-disrupts-training", NodePool)
def disrupts_training(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """The pool is labelled for training, or training without checkpoints selects it.

    Silent where a budget keeps underused nodes, or pods wait ten minutes and more.
    """
    for pool, karpenter in _dynamic(context, subject):
        if not karpenter.disruption_known or not karpenter.policy.is_known:
            continue
        after = karpenter.consolidate_after_seconds
        if karpenter.policy.value not in ("WhenEmptyOrUnderutilized", "Balanced"):
            continue
        if not after.is_known or after.value >= _SHORT_SECONDS:
            continue
        budgets = karpenter.budgets.value if karpenter.budgets.is_known else ()
        if karpenter.budgets.is_unknown or any(b.always_zero_for("Underutilized") for b in budgets):
            continue
        because = _for_training(context, pool)
        if because is None:
            continue
        yield disrupts_training.say(
            karpenter=karpenter,
            because=because,
            remediation=_set(karpenter, consolidationPolicy="WhenEmpty", consolidateAfter="30m"),
        )


def _for_training(context: RuleContext, pool: NodePool) -> str | None:
    said = {*pool.labels.values(), *pool.annotations.values()}
    if "training" in said or "training" in pool.name:
        return "the pool is for training"
    if pool.taints.is_known and any("training" in taint.key for taint in pool.taints.value):
        return "the pool's taint is for training"
    for workload in gpu_workloads(context):
        if is_training(workload) and _pinned(context, workload, pool):
            return f"{workload.locator} trains on it"
    return None


def _pinned(context: RuleContext, workload: WorkloadFacts, pool: NodePool) -> bool:
    return any(
        group.node_labels and accepts(context, pool, group) is True
        for group in workload.running_groups()
    )


@written_rule("expiry-blocked-for-ever", NodePool)
def expiry_blocked(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """`expireAfter` is written, no `terminationGracePeriod`, and GPU pods forbid disruption.

    A duration as the annotation's value complies, and so does a pool without its own `expireAfter`.
    """
    for pool, karpenter in _dynamic(context, subject):
        if not karpenter.expiry_written or not karpenter.termination_grace.is_absent:
            continue
        if not karpenter.expire_after.is_known:
            continue
        for workload in gpu_workloads(context):
            stays = workload.annotations.get("karpenter.sh/do-not-disrupt") == "true"
            groups = workload.running_groups() if stays else ()
            if any(accepts(context, pool, group) is not False for group in groups):
                yield expiry_blocked.say(
                    karpenter=karpenter,
                    workload=workload,
                    money=nodes_money(context, pool, 1, AmountKind.EXPOSURE),
                    remediation=(add("24h", "spec.template.spec", "terminationGracePeriod"),),
                )
                break


@written_rule("karpenter-consolidates-slowly", NodePool)
def slow(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """Silent for pools labelled for training: a long wait is right there."""
    for pool, karpenter in _dynamic(context, subject):
        after = karpenter.consolidate_after_seconds
        if not after.is_known or after.value <= _SLOW_SECONDS:
            continue
        if _for_training(context, pool) is not None:
            continue
        hours = Fraction(min(after.value, 86_400) - _SLOW_SECONDS, 3600)  # of a day
        whole = nodes_money(context, pool, 1, AmountKind.WASTE)
        price = whole.micro_usd_per_hour
        yield slow.say(
            karpenter=karpenter,
            money=Money(
                AmountKind.WASTE,
                None if price is None else price * hours / 24,
                whole.gpus * hours / 24,
                f"{whole.basis}; one such wait a day",
            ),
            remediation=_set(karpenter, consolidateAfter="5m"),
        )
