"""Cases of rules/karpenter_pools.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET, karpenter
from tests.policies.cases.workloads import deployment
from tests.policies.objects import REMOVE

DISRUPTION = "spec.disruption"
TEMPLATE = "spec.template.spec"
STAYS = deployment(
    {
        'metadata.annotations."karpenter.sh/do-not-disrupt"': "true",
        "metadata.annotations.owner": "ml",
        'metadata.annotations."cost-center"': "1",
        "metadata.annotations.environment": "prod",
        "spec.template.spec.containers[0].resources.limits": {"nvidia.com/gpu": 1},
    }
)

CASES = (
    Case(
        "karpenter-never-consolidates",
        karpenter({DISRUPTION: REMOVE}),
        karpenter({f"{DISRUPTION}.consolidateAfter": "Never"}),
        "consolidateAfter is Never, so empty GPU nodes stay",
        alongside=QUIET,
    ),
    Case(
        "karpenter-never-expires",
        karpenter(),
        karpenter({f"{TEMPLATE}.expireAfter": "Never"}),
        "nodes that never expire keep old drivers",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    Case(
        "karpenter-disrupts-training",
        karpenter({"spec.template.metadata.labels.use": "training"}),
        karpenter(
            {
                "spec.template.metadata.labels.use": "training",
                f"{DISRUPTION}.consolidationPolicy": "WhenEmptyOrUnderutilized",
            }
        ),
        "WhenEmptyOrUnderutilized after 5m, and the pool is for training",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    Case(
        "expiry-blocked-for-ever",
        karpenter({f"{TEMPLATE}.expireAfter": "168h", f"{TEMPLATE}.terminationGracePeriod": "24h"}),
        karpenter({f"{TEMPLATE}.expireAfter": "168h"}),
        "nodes expire after 168h, and Deployment ml/chat has karpenter.sh/do-not-disrupt: true",
        Level.ADVISORY,
        alongside=(*QUIET, STAYS),
    ),
    Case(
        "karpenter-consolidates-slowly",
        karpenter({f"{DISRUPTION}.consolidateAfter": "1h"}),
        karpenter({f"{DISRUPTION}.consolidateAfter": "6h"}),
        "an empty node stays 6h",
        Level.ADVISORY,
        alongside=QUIET,
    ),
)
