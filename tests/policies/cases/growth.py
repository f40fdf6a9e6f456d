"""Cases of rules/scaling.py: sizes that no pool can hold."""

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, manifest
from tests.policies.cases.pools import karpenter
from tests.policies.cases.scaling import PROMETHEUS
from tests.policies.cases.workloads import LIMITS, deployment
from tests.policies.objects import changed

SCALER = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"name": "chat", "namespace": "ml"},
    "spec": {
        "scaleTargetRef": {"name": "chat"},
        "minReplicaCount": 1,
        "maxReplicaCount": 48,
        "triggers": [PROMETHEUS],
    },
}

CASES = (
    Case(
        "gpu-autoscaler-exceeds-pool",
        manifest(SCALER),
        manifest(changed(SCALER, {"spec.maxReplicaCount": 100})),
        "may grow Deployment ml/chat to 100 pods; notebooks (nodes.max 2) can hold 48 pods",
        Level.ADVISORY,
        alongside=(FLEET, deployment()),
    ),
    Case(
        "gpu-autoscaler-exceeds-pool",
        manifest(changed(SCALER, {"spec.maxReplicaCount": 8})),
        manifest(changed(SCALER, {"spec.maxReplicaCount": 9})),
        "may grow Deployment ml/chat to 9 pods; gpu can hold 8 pods",
        Level.ADVISORY,
        alongside=(
            karpenter({"spec.limits": {"nvidia.com/gpu": 8}}),
            deployment(
                {
                    LIMITS: {"nvidia.com/gpu": 1},
                    "spec.template.spec.nodeSelector": {"karpenter.sh/nodepool": "gpu"},
                }
            ),
        ),
    ),
)
