"""Cases of rules/pool_care.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET, gke_pool, node_group
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
