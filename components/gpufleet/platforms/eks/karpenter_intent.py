"""When Karpenter may disrupt the nodes of a pool, by what the pool is for.

Sources: karpenter.sh v1.14.1 `disruption`; AWS EKS best practices `aiml_compute` (WhenEmpty and a
long wait for GPU nodes). Budgets do not hold expiry back: where pods may refuse to leave, a grace
period bounds the wait.
"""

from dataclasses import dataclass
from typing import Any

from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Intent


@dataclass(frozen=True, slots=True)
class Disruption:
    """One way of treating nodes that work."""

    policy: str
    after: str
    expire: str
    grace: str
    budgets: tuple[dict[str, Any], ...]


_TENTH = ({"nodes": "10%"},)

BY_INTENT = {
    # A job of many nodes loses all of them with one: only idle nodes go, none for a new image.
    Intent.TRAINING: Disruption(
        "WhenEmpty",
        "60m",
        "Never",
        "24h",
        ({"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "100%", "reasons": ["Empty"]}),
    ),
    Intent.BATCH: Disruption("WhenEmpty", "10m", "720h", "4h", _TENTH),
    Intent.INFERENCE: Disruption("Balanced", "5m", "720h", "1h", _TENTH),
    Intent.INTERACTIVE: Disruption("WhenEmpty", "30m", "720h", "8h", ({"nodes": "1"},)),
}


OF_AUTO_MODE = {"Balanced": "WhenEmptyOrUnderutilized", "Never": "480h", "720h": "336h"}
"""Default -> what EKS Auto Mode has instead: it documents no Balanced, its nodes go after 21 days,
and after 336 hours by default (Amazon EKS user guide, automode and create-node-pool)."""


def disruption(
    intent: Intent, options: KarpenterPoolOptions, *, auto_mode: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """`spec.disruption` of a NodePool, and the related fields of `spec.template.spec`."""
    default, written = BY_INTENT[intent], options.disruption
    nearest = OF_AUTO_MODE if auto_mode else {}
    budgets = (
        [
            one.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
            for one in written.budgets
        ]
        if written.budgets
        else [dict(one) for one in default.budgets]
    )
    return (
        {
            "consolidationPolicy": written.consolidation_policy
            or nearest.get(default.policy, default.policy),
            "consolidateAfter": written.consolidate_after or default.after,
            "budgets": budgets,
        },
        {
            "expireAfter": options.expire_after or nearest.get(default.expire, default.expire),
            "terminationGracePeriod": options.termination_grace_period or default.grace,
        },
    )
