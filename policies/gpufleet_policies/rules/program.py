"""Everything declared together: monitoring, budgets, namespaces; reported on the first pool."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import FleetFacts
from gpufleet.cluster.capacity import Reservation
from gpufleet.cluster.cluster import DeclaredNamespace, GpuQuota, MetricsSource
from gpufleet.cluster.nvidia import OperatorChoices
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.queues import LocalQueue
from gpufleet.findings import Finding
from gpufleet.findings.money import HOURS_PER_MONTH, MICRO_USD, AmountKind, Money, usd_hour
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.money.stack import UNREADABLE, StackSpend, stack_spend
from gpufleet_policies.rules.pools import POOLS, all_pools, gpu_workloads, validated_pools
from gpufleet_policies.rules.written import written_rule


def _speaks(context: RuleContext, subject: NodePool | FleetFacts) -> bool:
    """Whether it is the first subject with GPUs: what concerns all is reported once, on it."""
    for one in context.surroundings or ():
        if isinstance(one, POOLS) and any(
            p.is_certainly_gpu for p in validated_pools(context, one)
        ):
            return one is subject or one.locator == subject.locator
    return False


@once
def spend_of(context: RuleContext) -> StackSpend:
    """Present and maximum cost of all pools declared together, computed once a run."""
    return stack_spend(all_pools(context), context.catalogue, context.declared(Reservation))


@written_rule("gpu-monitoring-missing", POOLS)
def monitoring_missing(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """No DCGM exporter by operator, chart or DaemonSet, no GKE DCGM, no CloudWatch add-on. Silent
    where no operator and no fleet is declared here: then another program installs it. Advice in
    every profile: what is not in these files can be in others."""
    if not _speaks(context, subject):
        return
    if not any(_is_nvidia(context, pool) for pool in all_pools(context)):
        return
    if context.anywhere(MetricsSource) or any(f.monitored for f in context.anywhere(FleetFacts)):
        return
    choices = context.declared(OperatorChoices)
    if not choices and not context.declared(FleetFacts):
        return
    if any(choice.dcgm_exporter.is_unknown for choice in choices):
        return
    yield monitoring_missing.say()


def _is_nvidia(context: RuleContext, pool: NodePool) -> bool:
    """Whether a DCGM exporter can measure it: not Trainium, not TPUs."""
    if not pool.is_certainly_gpu:
        return False
    gpu = context.catalogue.gpus.get(pool.gpu.value) if pool.gpu.is_known else None
    return gpu is None or gpu.vendor == "nvidia"


@written_rule("stack-gpu-budget-exceeded", POOLS)
def stack_budget(context: RuleContext, subject: NodePool | FleetFacts) -> Iterator[Finding]:
    """`budgets` of the settings, for the environment of the first pool that has one. Mandatory:
    minimum sizes above standingUsdPerMonth, maximum sizes above exposureUsdPerHour, and a pool
    without a bound while such a limit is set."""
    if not _speaks(context, subject):
        return
    environment = context.environment_of(subject)
    name = environment.value.lower() if environment.is_known else "*"
    budget = context.thresholds.budgets.get(name) or context.thresholds.budgets.get("*")
    if budget is None:
        return
    spend = spend_of(context)
    if budget.standing_usd_per_month is not None:
        hourly = spend.standing.micro_usd_per_hour or 0
        allowed = Fraction(budget.standing_usd_per_month) * MICRO_USD / HOURS_PER_MONTH
        if hourly > allowed:
            yield stack_budget.say(
                _dearest(spend, "standing"),
                hourly=usd_hour(hourly),
                name=name,
                budget=budget,
                money=Money(
                    AmountKind.STANDING,
                    Fraction(hourly) - allowed,
                    Fraction(0),
                    "the part above it",
                    of_all=True,
                ),
            )
    if budget.exposure_usd_per_hour is not None:
        yield from _exposure(spend, name, Fraction(budget.exposure_usd_per_hour))


def _exposure(spend: StackSpend, name: str, limit: Fraction) -> Iterator[Finding]:
    hourly = spend.exposure.micro_usd_per_hour or 0
    over = Fraction(hourly) - limit * MICRO_USD
    causes = [cause for cause in spend.exposure.causes if not cause.endswith(UNREADABLE)]
    if causes:
        yield stack_budget.say(
            case="unbounded", reasons="; ".join(causes), name=name, most=float(limit), causes=causes
        )
    elif over > 0:
        yield stack_budget.say(
            _dearest(spend, "exposure"),
            case="exposure",
            hourly=usd_hour(hourly),
            name=name,
            most=float(limit),
            money=Money(AmountKind.EXPOSURE, over, Fraction(0), "the part above it", of_all=True),
        )


def _dearest(spend: StackSpend, which: str) -> str:
    priced = [(getattr(pool, which) or 0, pool.name) for pool in spend.pools]
    return f"most expensive: {max(priced)[1]}" if priced else ""


@written_rule("namespace-without-gpu-quota", DeclaredNamespace)
def without_quota(context: RuleContext, namespace: DeclaredNamespace) -> Iterator[Finding]:
    """Made here, with GPU workloads in it; neither a ResourceQuota for GPUs nor a LocalQueue."""
    name = namespace.locator.name
    inside = [w for w in gpu_workloads(context) if w.locator.namespace == name]
    if not inside or all(w.node_agent for w in inside):
        return
    if any(q.covers_gpus and q.locator.namespace == name for q in context.anywhere(GpuQuota)):
        return
    if any(queue.locator.namespace == name for queue in context.anywhere(LocalQueue)):
        return
    yield without_quota.say(count=len(inside))
