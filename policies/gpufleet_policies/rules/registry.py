"""Every rule, in the order they are documented and reported."""

from functools import cache

from gpufleet_policies.rules import (
    capacity,
    fleet_pools,
    fleet_spend,
    gpu_requests,
    idle,
    mig_layouts,
    model_fit,
)
from gpufleet_policies.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    fleet_spend.spend_unbounded,
    fleet_spend.budget_missing,
    fleet_spend.budget_exceeded,
    fleet_pools.interactive_large,
    fleet_pools.nonprod_minimum,
    fleet_pools.fixed_size,
    fleet_pools.on_demand_for_batch,
    mig_layouts.stranded_slices,
    model_fit.oversized,
    model_fit.slice_fits,
    gpu_requests.request_without_limit,
    gpu_requests.request_differs,
    gpu_requests.not_integer,
    gpu_requests.over_one_share,
    gpu_requests.without_cpu_memory,
    idle.idle_command,
    idle.without_deadline,
    capacity.not_offered,
    capacity.exceed_pool,
)
"""All rules."""

EXCEPTION_INVALID = "policy-exception-invalid"
"""Code of the finding about an exception that does not count: no reason, past or bad date."""

RULE_FAILED = "policy-rule-failed"
"""Code of the note about a rule that could not judge an object because the rule itself broke."""


@cache
def by_id() -> dict[str, Rule]:
    """Rules by their id."""
    return {rule.id: rule for rule in RULES}


@cache
def judging(subject: type) -> tuple[Rule, ...]:
    """Rules that judge facts of this type."""
    return tuple(rule for rule in RULES if rule.subject is subject)
