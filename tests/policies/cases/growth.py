"""Cases of rules/growth.py."""

from gpufleet_policies.rules.rule import Level
from tests.policies.cases.case import FLEET, Case, manifest
from tests.policies.cases.scaling import PROMETHEUS
from tests.policies.cases.workloads import deployment
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
)
