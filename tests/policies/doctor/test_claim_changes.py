"""The smallest change of a claim that no node can satisfy now."""

from typing import Any

import pytest

from gpufleet_policies.doctor.diagnosis import diagnose
from gpufleet_policies.doctor.observed import SeenPod
from gpufleet_policies.doctor.pending import prove
from gpufleet_policies.doctor.snapshot import cluster_of
from tests.policies.doctor.steps import broken

GPUS = {"claim": "ml/one", "class": "gpu.nvidia.com"}
POD = {"pod": "ml/train", "claims": {"gpu": "one"}}
B200 = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA B200'"


@pytest.mark.parametrize(
    ("steps", "change"),
    [
        (
            [{**GPUS, "count": 9}, POD],
            "request at most 8 of gpu.nvidia.com in the claim one, request gpu (node gpu-0)",
        ),
        (
            [{**GPUS, "selector": B200}, POD],
            f"take the selector {B200} of the claim one away (node gpu-0)",
        ),
        (
            [
                {"claim": "ml/big", "class": "gpu.nvidia.com", "count": 8, "allocated": "gpu-0",
                 "for": "ml/user"},
                {"pod": "ml/user", "claims": {"gpu": "big"}, "node": "gpu-0"},
                {"delete": "ResourceSlice/gpu-1-gpu"},
                GPUS,
                POD,
            ],
            "end what uses the claim ml/big, which holds devices of gpu-0 (node gpu-0)",
        ),
    ],
    ids=["too many", "a selector", "all taken"],
)  # fmt: skip
def test_the_change_is_of_the_claim(steps: list[dict[str, Any]], change: str) -> None:
    cluster = cluster_of(broken("dra", steps).dump())
    pod = next(one for one in cluster.pods if one.name == "train")
    assert isinstance(pod, SeenPod)
    assert prove(cluster, pod).change == change


def test_the_constraint_that_fails_is_named() -> None:
    """Two GPUs of one PCIe root, on nodes each of whose GPUs has a different root."""
    root = "resource.kubernetes.io/pcieRoot"
    world = broken("dra", [{**GPUS, "count": 2}, POD])
    for node in ("gpu-0", "gpu-1"):
        for number, one in enumerate(world.find(f"ResourceSlice/{node}-gpu")["spec"]["devices"]):
            one["attributes"][root] = {"string": f"pci{number}"}
    spec = world.find("ResourceClaim/ml/one")["spec"]
    spec["devices"]["constraints"] = [{"matchAttribute": root}]
    cluster = cluster_of(world.dump())
    (found,) = diagnose(cluster)
    assert found.cause.code == "claim-unsatisfiable"
    assert root in found.text("message")
    pod = next(one for one in cluster.pods if one.name == "train")
    assert prove(cluster, pod).change == "take the constraints of the claim one away (node gpu-0)"
