"""Cases of rules/pool_care.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET, gke_pool, karpenter, node_group
from tests.policies.cases.workloads import deployment
from tests.policies.objects import REMOVE

STAGING = {"tags.environment": "staging", "labels.environment": "staging"}
SCALED = {'tags."k8s.io/cluster-autoscaler/enabled"': "true"}

CASES = (
    Case(
        "gpu-pool-untainted",
        node_group(),
        node_group({"taints": REMOVE}),
        "pods without GPUs run on GPU nodes",
        alongside=QUIET,
    ),
    Case(
        "gpu-pool-without-repair",
        node_group(),
        node_group({"nodeRepairConfig": REMOVE}),
        "automatic repair is off",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    # jkwong888/gke-kueue-dws gke.tf: a pool of queued provisioning, as Google's page makes it.
    Case(
        "gpu-pool-without-repair",
        gke_pool({"management.autoRepair": False, "queuedProvisioning": {"enabled": True}}),
        gke_pool({"management.autoRepair": False}),
        "automatic repair is off",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    Case(
        "cluster-autoscaler-accelerator-label-missing",
        node_group(SCALED),
        node_group({**SCALED, "labels": {}}),
        "nodes lack the label k8s.amazonaws.com/accelerator",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    Case(
        "gpu-owner-tags-missing",
        node_group(),
        node_group({"tags.owner": REMOVE}),
        "lacks owner",
        Level.ADVISORY,
        alongside=QUIET,
    ),
)


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

KARPENTER_POOLS = (
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

CASES = (*CASES, *KARPENTER_POOLS)
