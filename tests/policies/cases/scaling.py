"""Cases of rules/scaling.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing, manifest
from tests.policies.cases.pools import karpenter
from tests.policies.cases.queues import quota
from tests.policies.cases.workloads import CONTAINER, LIMITS, container, deployment
from tests.policies.objects import REMOVE, changed

SERVES = {
    'metadata.annotations."gpufleet.dev/mode"': "inference",
    'metadata.annotations."gpufleet.dev/environment"': "prod",
    LIMITS: {"nvidia.com/gpu": 1},
}
STAGING = {**SERVES, 'metadata.annotations."gpufleet.dev/environment"': "staging"}
SERVER = deployment(SERVES)

HPA: dict[str, Any] = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "chat", "namespace": "ml"},
    "spec": {
        "minReplicas": 1,
        "maxReplicas": 4,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"},
        "metrics": [
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "vllm:num_requests_waiting"},
                    "target": {"type": "AverageValue", "averageValue": "4"},
                },
            }
        ],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 600}},
    },
}
USE = {"type": "Utilization", "averageUtilization": 80}
PROMETHEUS = {
    "type": "prometheus",
    "metadata": {
        "serverAddress": "http://prometheus.monitoring:9090",
        "query": "sum(queue_length)",
        "threshold": "4",
    },
}
SCALED: dict[str, Any] = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"name": "chat", "namespace": "ml"},
    "spec": {
        "scaleTargetRef": {"name": "chat"},
        "minReplicaCount": 1,
        "maxReplicaCount": 4,
        "idleReplicaCount": 0,
        "triggers": [PROMETHEUS],
    },
}
RAY: dict[str, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "serve", "namespace": "ml"},
    "spec": {
        "enableInTreeAutoscaling": True,
        "headGroupSpec": {
            "rayStartParams": {},
            "template": {"spec": {"containers": [container(None)]}},
        },
        "workerGroupSpecs": [
            {
                "groupName": "gpu",
                "replicas": 0,
                "minReplicas": 0,
                "maxReplicas": 2,
                "rayStartParams": {},
                "template": {"spec": {"containers": [container(1)]}},
            }
        ],
    },
}


def hpa(changes: dict[str, Any] | None = None) -> Thing:
    """A HorizontalPodAutoscaler of the server."""
    return manifest(changed(HPA, changes or {}))


CASES = (
    Case(
        "gpu-serving-without-autoscaler",
        deployment({**SERVES, "spec.replicas": 1}),
        SERVER,
        "4 replicas at all times",
        Level.ADVISORY,
        alongside=(),
    ),
    Case(
        "nonprod-serving-never-zero",
        deployment({**STAGING, "spec.replicas": 0}),
        deployment({**STAGING, "spec.replicas": 1}),
        "1 replica(s) stay in staging",
        Level.ADVISORY,
        alongside=(),
    ),
    Case(
        "autoscaler-cpu-of-gpu-workload",
        hpa(),
        hpa({"spec.metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": USE}}]}),
        "is scaled by cpu",
        Level.ADVISORY,
        alongside=(SERVER,),
    ),
    Case(
        "autoscaler-cpu-of-gpu-workload",
        hpa(),
        hpa({"spec.metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": USE}}]}),
        "a container without a CPU request has no use of it, and the autoscaler never scales",
        Level.ADVISORY,
        alongside=(deployment({f"{CONTAINER}.resources.requests": {}}),),
    ),
    Case(
        "scale-down-too-slow",
        hpa(),
        hpa({"spec.behavior.scaleDown.stabilizationWindowSeconds": 3600}),
        "an idle replica of Deployment ml/chat stays 3600 s",
        Level.ADVISORY,
        alongside=(SERVER,),
    ),
    Case(
        "autoscaler-min-equals-max",
        hpa({"spec.minReplicas": 1}),
        hpa({"spec.minReplicas": 4}),
        "Deployment ml/chat has a smallest and a largest size of 4",
        Level.ADVISORY,
        alongside=(SERVER,),
    ),
    Case(
        "ray-group-maximum-unset",
        manifest(RAY),
        manifest(changed(RAY, {"spec.workerGroupSpecs[0].maxReplicas": REMOVE})),
        "maxReplicas of gpu is not set",
        alongside=(),
    ),
    Case(
        "autoscaler-idle-not-below-minimum",
        manifest(SCALED),
        manifest(changed(SCALED, {"spec.idleReplicaCount": 1})),
        "idle 1 is not less than minReplicaCount 1",
        alongside=(SERVER,),
    ),
)

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

GROWTH = (
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
    # Tazmainiandevil/eks-gpu-inference-autoscaling: production grows to 30, its quota is 20.
    Case(
        "gpu-autoscaler-exceeds-pool",
        manifest(changed(SCALER, {"spec.maxReplicaCount": 8})),
        manifest(changed(SCALER, {"spec.maxReplicaCount": 9})),
        "may grow Deployment ml/chat to 9 pods; the quota of namespace ml, 8, can hold 8 pods",
        Level.ADVISORY,
        alongside=(quota(8), deployment({LIMITS: {"nvidia.com/gpu": 1}})),
    ),
)

CASES = (*CASES, *GROWTH)
