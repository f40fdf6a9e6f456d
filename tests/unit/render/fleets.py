"""Fleets the tests of whole artefacts share: one on EKS, one on GKE, every way of sharing."""

from functools import cache
from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.fleet.model import Pool
from gpufleet.platforms.compiled import compile_data

EKS_POOLS: dict[str, dict[str, Any]] = {
    "chat": {
        "gpu": "L4",
        "nodes": {"min": 0, "max": 8},
        "provisioner": "karpenter",
        "sharing": {"timeSlicing": {"replicas": 4}},
    },
    "large": {
        "instanceTypes": ["p4de.24xlarge"],
        "nodes": {"min": 0, "max": 2},
        "provisioner": "karpenter",
        "sharing": {
            "mig": {
                "layouts": [
                    {"gpus": 4, "devices": {"1g.10gb": 7}},
                    {"gpus": 3, "devices": {"3g.40gb": 1, "2g.20gb": 2}},
                ]
            }
        },
    },
    "fortygig": {
        "instanceTypes": ["p4d.24xlarge"],
        "nodes": {"min": 0, "max": 1},
        "provisioner": "karpenter",
        "sharing": {"mig": {"layouts": [{"devices": {"3g.20gb": 2}}]}},
    },
    "eighth": {
        "instanceTypes": ["g6f.large", "g6f.xlarge"],
        "nodes": {"min": 0, "max": 3},
        "provisioner": "karpenter",
    },
    "whole": {"gpu": "L40S", "nodes": {"min": 0, "max": 3}, "provisioner": "karpenter"},
    "training": {
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 4},
        "provisioner": "clusterAutoscaler",
        "intent": "training",
        "fabric": "efa",
    },
    "slices": {
        "instanceTypes": ["p4de.24xlarge"],
        "nodes": {"min": 0, "max": 3},
        "provisioner": "clusterAutoscaler",
        "sharing": {
            "mig": {"layouts": [{"devices": {"1g.20gb": 3}}], "timeSlicing": {"replicas": 2}}
        },
        "taints": [{"key": "example.com/team", "value": "vision", "effect": "NoExecute"}],
        "labels": {"example.com/tier": "shared"},
    },
    "visible": {
        "gpu": "L4",
        "nodes": {"min": 1, "max": 2},
        "sharing": {"timeSlicing": {"replicas": 2, "rename": False}},
    },
}

GKE_POOLS: dict[str, dict[str, Any]] = {
    "partitions": {
        "instanceTypes": ["a2-highgpu-2g"],
        "nodes": {"min": 0, "max": 3},
        "sharing": {
            "mig": {"layouts": [{"devices": {"1g.5gb": 7}}], "timeSlicing": {"replicas": 3}}
        },
    },
    "turns": {
        "gpu": "L4",
        "nodes": {"min": 0, "max": 3},
        "sharing": {"timeSlicing": {"replicas": 4}},
    },
    "clients": {"gpu": "L4", "nodes": {"min": 0, "max": 2}, "sharing": {"mps": {"replicas": 6}}},
    "plain": {"gpu": "L4", "gpusPerNode": 2, "nodes": {"min": 0, "max": 2}},
    "operator": {
        "gpu": "L4",
        "nodes": {"min": 0, "max": 3},
        "gke": {"driver": "gpuOperator"},
        "sharing": {"timeSlicing": {"replicas": 4}},
    },
}

TEAMS = [
    {"name": "research", "share": 0.5, "namespaces": ["lab", "papers"]},
    {"name": "product", "share": 0.3},
    {"name": "students", "share": 0.2},
]


REGIONS = {"gke": "us-central1"}


def compiled(platform: str, pools: dict[str, dict[str, Any]], **more: Any) -> Fleet:
    """A fleet that compiles without an error."""
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "ml", "region": REGIONS.get(platform, "us-east-1")},
            "pools": [{"name": name, **pool} for name, pool in pools.items()],
            **more,
        }
    )
    assert result.fleet is not None, result.findings
    assert result.deployable, result.findings
    return result.fleet


@cache
def _usual(platform: str) -> Fleet:
    return compiled(platform, EKS_POOLS if platform == "eks" else GKE_POOLS)


def eks(**more: Any) -> Fleet:
    return compiled("eks", EKS_POOLS, **more) if more else _usual("eks")


def gke(**more: Any) -> Fleet:
    return compiled("gke", GKE_POOLS, **more) if more else _usual("gke")


def one(platform: str = "eks", **pool: Any) -> Pool:
    """The only pool of its fleet."""
    declared = {"nodes": {"min": 0, "max": 2}, **pool}
    return compiled(platform, {"one": declared}).pools[0]


def watched() -> Fleet:
    """Nodes that are tested and repaired, and a notebook that stops when idle."""
    lab = {
        "gpu": "L4",
        "nodes": {"min": 0, "max": 4},
        "intent": "interactive",
        "health": {"mode": "repair", "by": "nvsentinel", "floor": {"nodes": 0}},
        "idle": {"afterMinutes": 30, "notebooks": [{"name": "alice", "namespace": "lab"}]},
    }
    train = {
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 4, "max": 4},
        "acceptance": {"waitMinutes": 120},
        "health": {"mode": "repair", "floor": {"percent": 75}},
    }
    return compiled(
        "eks",
        {"lab": lab, "train": train},
        monitoring={"queryUrl": "http://prometheus.monitoring.svc:9090"},
        addons={"keda": {"enabled": True}, "gpuOperator": {"dcgm": {"enabled": True}}},
    )
