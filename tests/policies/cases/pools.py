"""Pools that many cases start from: compliant ones of each maker."""

from typing import Any

from tests.policies.cases.case import Thing, manifest
from tests.policies.objects import changed

TAGS = {"owner": "ml", "cost-center": "4711", "environment": "prod"}
EKS_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

NODE_GROUP: dict[str, Any] = {
    "clusterName": "ml",
    "nodeGroupName": "gpu",
    "instanceTypes": ["g6.xlarge"],
    "capacityType": "ON_DEMAND",
    "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 0},
    "taints": [EKS_TAINT],
    "labels": {"k8s.amazonaws.com/accelerator": "l4"},
    "nodeRepairConfig": {"enabled": True},
    "diskSize": 100,
    "tags": TAGS,
}

GKE_POOL: dict[str, Any] = {
    "name": "gpu",
    "cluster": "ml",
    "location": "us-central1-a",
    "nodeConfig": {
        "machineType": "a2-highgpu-1g",
        "guestAccelerators": [{"type": "nvidia-tesla-a100", "count": 1}],
        "resourceLabels": TAGS,
        "taints": [EKS_TAINT],
    },
    "autoscaling": {"minNodeCount": 0, "maxNodeCount": 4},
    "management": {"autoRepair": True},
}

KARPENTER: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "gpu", "labels": TAGS},
    "spec": {
        "limits": {"nvidia.com/gpu": "16"},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
        "template": {
            "metadata": {"labels": {"pool": "gpu"}},
            "spec": {
                "nodeClassRef": {
                    "group": "karpenter.k8s.aws",
                    "kind": "EC2NodeClass",
                    "name": "gpu",
                },
                "taints": [TAINT],
                "requirements": [
                    {
                        "key": "node.kubernetes.io/instance-type",
                        "operator": "In",
                        "values": ["g6.xlarge", "g6.2xlarge", "g6.4xlarge"],
                    },
                    {
                        "key": "karpenter.sh/capacity-type",
                        "operator": "In",
                        "values": ["spot", "on-demand"],
                    },
                ],
            },
        },
    },
}


SMALL = {"cpu": "2", "memory": "8Gi"}
"""Resources that a pod may request on the smallest machine."""


def node_group(changes: dict[str, Any] | None = None, name: str = "gpu") -> Thing:
    """An EKS managed node group."""
    return Thing("aws:eks/nodeGroup:NodeGroup", changed(NODE_GROUP, changes or {}), name)


def gke_pool(changes: dict[str, Any] | None = None, name: str = "gpu") -> Thing:
    """A GKE node pool."""
    return Thing("gcp:container/nodePool:NodePool", changed(GKE_POOL, changes or {}), name)


def karpenter(changes: dict[str, Any] | None = None) -> Thing:
    """A Karpenter NodePool."""
    return manifest(changed(KARPENTER, changes or {}))


CPU_GROUP = Thing(
    "aws:eks/nodeGroup:NodeGroup",
    {
        "clusterName": "ml",
        "nodeGroupName": "cpu",
        "instanceTypes": ["m7i.large"],
        "scalingConfig": {"minSize": 2, "maxSize": 4, "desiredSize": 2},
        "tags": TAGS,
    },
    "cpu",
)
"""A pool without GPUs, for everything else."""

EXPORTER = Thing(
    "kubernetes:helm.sh/v3:Release", {"chart": "dcgm-exporter", "values": {}}, "dcgm-exporter"
)
"""Something that measures GPUs."""

QUIET = (EXPORTER, CPU_GROUP)
"""Objects next to a pool, so that only the pool itself can have a fault."""
