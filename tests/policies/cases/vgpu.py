"""Cases of rules/vgpu.py."""

from typing import Any

from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.sharing import operator
from tests.policies.cases.workloads import LIMITS, deployment


def template(profile: str, name: str = "vgpu") -> Thing:
    """A Cluster API template of vSphere machines with one vGPU."""
    return manifest(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "VSphereMachineTemplate",
            "metadata": {"name": name},
            "spec": {"template": {"spec": {"pciDevices": [{"vGPUProfile": profile}]}}},
        }
    )


def machines(name: str = "vgpu", most: int = 4) -> Thing:
    """A MachineDeployment of such machines."""
    prefix = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    infrastructure: dict[str, Any] = {"kind": "VSphereMachineTemplate", "name": name}
    return manifest(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta1",
            "kind": "MachineDeployment",
            "metadata": {
                "name": name,
                "labels": {"owner": "ml", "cost-center": "1", "environment": "prod"},
                "annotations": {f"{prefix}-min-size": "0", f"{prefix}-max-size": str(most)},
            },
            "spec": {
                "clusterName": "ml",
                "template": {
                    "spec": {
                        "infrastructureRef": infrastructure,
                        "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
                    }
                },
            },
        }
    )


def server(gibibytes: str) -> Thing:
    """A Deployment that declares the memory of its model."""
    return deployment(
        {
            LIMITS: {"nvidia.com/gpu": 1},
            'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"': gibibytes,
        }
    )


LICENSED = {"driver": {"licensingConfig": {"secretName": "licence", "nlsEnabled": True}}}

CASES = (
    Case(
        "vgpu-unlicensed",
        operator(LICENSED),
        operator({"driver": {"enabled": True}}),
        "vgpu has grid_a100d-8c, and driver.licensingConfig names no Secret",
        alongside=(template("grid_a100d-8c"), machines()),
    ),
)
