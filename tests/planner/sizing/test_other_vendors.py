"""GPUs of AMD and Intel: sizing supports them, pools of them are refused by name."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.models.ledger import Basis
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import size
from tests.unit.contract.fleets import one, validated

SHAPES: dict[str, dict[str, Any]] = {
    "vsphere": {"cpus": 8, "memoryGib": 64, "template": "ubuntu"},
    "openshift": {"cpus": 8, "memoryGib": 64, "template": "rhcos"},
}


@pytest.mark.parametrize(
    ("gpu", "memory_gib"),
    # The makers' sizes: ROCm's GPU specifications; Intel's white paper of Gaudi 3.
    [("MI300X", 192), ("MI325X", 256), ("MI355X", 288), ("Gaudi3", 128)],
)
def test_a_model_is_sized(gpu: str, memory_gib: int) -> None:
    request = SizeRequest.model_validate({"model": "Llama-3.1-8B", "context": 4096, "gpu": gpu})
    answer = size(request, load())
    assert not [f for f in answer.findings if f.severity == "error"]
    assert answer.device is not None
    assert answer.device.usable_bytes == memory_gib * 2**30
    assert answer.device.memory_basis is Basis.ASSUMED, "overheads were measured on NVIDIA"
    assert answer.device.rates is not None


@pytest.mark.parametrize("platform", SHAPES)
@pytest.mark.parametrize("gpu", ["MI300X", "MI325X", "MI355X", "Gaudi3"])
def test_a_pool_is_refused_by_name(platform: str, gpu: str) -> None:
    pool = {"name": "other", "gpu": gpu, "gpusPerNode": 1, platform: SHAPES[platform]}
    found = one(validated(platform, pool), "accelerator-not-yet-supported")
    assert load().gpu(gpu).name in found.message


@pytest.mark.parametrize("platform", ["eks", "gke"])
def test_a_cloud_without_the_gpu_says_so(platform: str) -> None:
    found = one(validated(platform, {"name": "other", "gpu": "MI300X"}), "gpu-not-on-platform")
    assert "MI300X" in found.message
