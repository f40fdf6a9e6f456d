"""Operands of the GPU Operator stay off nodes that a platform serves.

The operator serves each node of its cluster with an NVIDIA GPU, whatever pool it is of, unless
`nvidia.com/gpu.deploy.operands` is `false` there (NVIDIA/gpu-operator 04751ec
`controllers/state_manager.go`): a second device plugin would replace the first.
"""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data

LABEL = "nvidia.com/gpu.deploy.operands"
GKE_OWN = {"name": "own", "instanceTypes": ["g2-standard-4"]}
GKE_OPERATED = {"name": "op", "instanceTypes": ["g2-standard-4"], "gke": {"driver": "gpuOperator"}}
ROCKET = {
    "name": "own",
    "gpu": "L4",
    "image": "bottlerocket-nvidia",
    "sharing": {"timeSlicing": {"replicas": 2}},
}

CUT = {
    "name": "op",
    "instanceTypes": ["p5.48xlarge"],
    "sharing": {"mig": {"layouts": [{"gpus": 8, "devices": {"1g.10gb": 7}}]}},
}
PLUGIN = {"devicePlugin": {"enabled": True}}


@pytest.mark.parametrize(
    ("platform", "pools", "addons", "kept_off"),
    [
        ("gke", [GKE_OWN, GKE_OPERATED], {}, True),
        ("gke", [GKE_OWN], {}, False),
        ("gke", [GKE_OWN], {"gpuOperator": {"enabled": True}}, True),
        ("eks", [ROCKET, {"name": "op", "gpu": "L4"}], {}, True),
        ("eks", [ROCKET], {}, False),
        # The operator has the MIG manager alone to install.
        ("eks", [ROCKET, CUT], PLUGIN, True),
    ],
)
def test_nodes_of_a_platform_have_no_operands(
    platform: str, pools: list[dict[str, Any]], addons: dict[str, Any], kept_off: bool
) -> None:
    region = {"eks": "us-east-1", "gke": "us-central1"}[platform]
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "ml", "region": region},
            "addons": addons,
            "pools": [{"nodes": {"min": 0, "max": 1}, **pool} for pool in pools],
        }
    )
    assert result.fleet is not None, result.findings
    labels = {pool.name: pool.labels.get(LABEL) for pool in result.fleet.pools}
    assert labels.pop("own") == ("false" if kept_off else None)
    assert set(labels.values()) <= {None}
