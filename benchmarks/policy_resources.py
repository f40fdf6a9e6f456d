"""Resources for measurements of policies: compliant, as are most resources of a program."""

from collections.abc import Callable
from typing import Any


def _deployment(number: int) -> dict[str, Any]:
    """Two containers, probes, volumes."""
    environment = [{"name": f"SETTING_{n}", "value": str(n)} for n in range(8)]
    probe = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}
    server = {
        "name": "server",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192"],
        "env": environment,
        "ports": [{"containerPort": 8000, "name": "http"}],
        "readinessProbe": probe,
        "resources": {
            "requests": {"cpu": "4", "memory": "16Gi"},
            "limits": {"nvidia.com/gpu": "1"},
        },
        "volumeMounts": [{"name": "cache", "mountPath": "/cache"}],
    }
    proxy = {"name": "proxy", "image": "envoy:1.31", "ports": [{"containerPort": 9000}]}
    labels = {"app": f"chat-{number}", "team": "search"}
    spec = {
        "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-L4"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [server, proxy],
        "volumes": [{"name": "cache", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"chat-{number}", "namespace": "serving", "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _database(number: int) -> dict[str, Any]:
    """A resource that no rule reads, as are most resources of a program."""
    tags = {f"tag-{n}": str(n) for n in range(20)}
    settings = [{"name": f"setting-{n}", "value": str(n), "apply": "now"} for n in range(12)]
    return {"identifier": f"db-{number}", "engine": "postgres", "tags": tags, "settings": settings}


def _node_group(number: int) -> dict[str, Any]:
    """A managed node group as GpuFleet makes it."""
    tags = {"cost-center": "4711", "team": "search", "gpufleet.dev/pool": f"pool-{number}"}
    labels = {
        "gpufleet.dev/pool": f"pool-{number}",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/mig.config": f"pool-{number}-6f1d2a90",
        "nvidia.com/device-plugin.config": "whole",
        "example.com/tier": "web",
    }
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    return {
        "amiType": "AL2023_x86_64_NVIDIA",
        "capacityType": "ON_DEMAND",
        "clusterName": "ml",
        "instanceTypes": ["p4de.24xlarge"],
        "labels": labels,
        "launchTemplate": {"id": f"lt-{number:017x}", "version": "1"},
        "nodeGroupNamePrefix": f"ml-pool-{number}-",
        "nodeRepairConfig": {"enabled": True},
        "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
        "scalingConfig": {"minSize": 0, "maxSize": 3, "desiredSize": 0},
        "subnetIds": ["subnet-0aaaaaaaaaaaaaaaa", "subnet-0bbbbbbbbbbbbbbbb"],
        "tags": tags,
        "taints": [taint],
        "updateConfig": {"maxUnavailable": 1},
        "version": "1.36",
    }


def _karpenter_pool(number: int) -> dict[str, Any]:
    """A NodePool of Karpenter as GpuFleet makes it."""
    requirements = [
        {"key": key, "operator": "In", "values": values}
        for key, values in (
            ("node.kubernetes.io/instance-type", ["g6.xlarge", "g6.2xlarge", "g6.4xlarge"]),
            ("karpenter.sh/capacity-type", ["spot", "on-demand"]),
            ("kubernetes.io/arch", ["amd64"]),
            ("topology.kubernetes.io/zone", ["us-east-1a", "us-east-1b"]),
        )
    ]
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": f"pool-{number}"}
    labels = {"gpufleet.dev/pool": f"pool-{number}", "nvidia.com/gpu.present": "true"}
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    template = {
        "nodeClassRef": reference,
        "requirements": requirements,
        "taints": taints,
        "expireAfter": "720h",
        "terminationGracePeriod": "1h",
    }
    disruption = {
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": "10m",
        "budgets": [
            {"nodes": "1"},
            {"nodes": "0", "reasons": ["Drifted"], "schedule": "0 6 * * *"},
        ],
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": f"pool-{number}", "labels": labels},
        "spec": {
            "template": {"metadata": {"labels": labels}, "spec": template},
            "limits": {"nodes": "3", "nvidia.com/gpu": "3"},
            "disruption": disruption,
            "weight": 10,
        },
    }


def _mixed(number: int) -> tuple[str, dict[str, Any]]:
    """A program full of pools: two node groups and two NodePools to each workload."""
    return (
        ("aws:eks/nodeGroup:NodeGroup", _node_group(number)),
        ("kubernetes:karpenter.sh/v1:NodePool", _karpenter_pool(number)),
        ("kubernetes:apps/v1:Deployment", _deployment(number)),
        ("aws:eks/nodeGroup:NodeGroup", _node_group(number)),
        ("kubernetes:karpenter.sh/v1:NodePool", _karpenter_pool(number)),
    )[number % 5]


Make = Callable[[int], tuple[str, dict[str, Any]]]
"""Type and properties of a resource, by its number."""

KINDS: tuple[tuple[str, Make], ...] = (
    (
        "a GPU workload, validated by every rule",
        lambda n: ("kubernetes:apps/v1:Deployment", _deployment(n)),
    ),
    ("an EKS node group", lambda n: ("aws:eks/nodeGroup:NodeGroup", _node_group(n))),
    (
        "a NodePool of Karpenter",
        lambda n: ("kubernetes:karpenter.sh/v1:NodePool", _karpenter_pool(n)),
    ),
    ("pools and workloads, four to one", _mixed),
    ("anything else", lambda n: ("aws:rds/instance:Instance", _database(n))),
)
