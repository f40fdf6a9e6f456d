"""The part of GKE's own device plugin in a pool, and that of the GPU Operator."""

from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data


def compiled(*pools: dict[str, Any]) -> Fleet:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [{"nodes": {"min": 0, "max": 3}, **pool} for pool in pools],
        }
    )
    assert result.fleet is not None
    assert result.deployable, result.findings
    return result.fleet


SLICED = {
    "name": "slices",
    "instanceTypes": ["a2-highgpu-2g"],
    "sharing": {"mig": {"layouts": [{"devices": {"1g.5gb": 7}}], "timeSlicing": {"replicas": 3}}},
}
TURNS = {"name": "turns", "gpu": "L4", "sharing": {"timeSlicing": {"replicas": 4}}}


def test_gke_publishes_every_share_as_nvidia_com_gpu() -> None:
    fleet = compiled(SLICED, TURNS)
    assert dict(fleet.pool("slices").advertised) == {"nvidia.com/gpu": 2 * 7 * 3}
    assert dict(fleet.pool("turns").advertised) == {"nvidia.com/gpu": 4}
    assert fleet.pool("turns").partition.fail_requests_greater_than_one


def test_pools_served_by_gke_ask_nothing_of_the_operator() -> None:
    fleet = compiled(SLICED, TURNS)
    assert fleet.pool("slices").labels == {"gpufleet.dev/pool": "slices"}
    plan = fleet.addons.gpu_operator
    assert (plan.enabled, plan.mig_manager, plan.mig_strategy) == (False, False, "none")


def test_a_pool_of_the_operator_keeps_gkes_plugin_away() -> None:
    pool = compiled({**TURNS, "gke": {"driver": "gpuOperator"}}).pool("turns")
    assert dict(pool.advertised) == {"nvidia.com/gpu.shared": 4}
    assert pool.labels["gke-no-default-nvidia-gpu-device-plugin"] == "true"
    owners = pool.owners
    assert (owners.driver, owners.toolkit, owners.device_plugin) == (
        "image",
        "gpuOperator",
        "gpuOperator",
    )


def test_on_ubuntu_the_operator_brings_the_driver_too() -> None:
    pool = {**TURNS, "gke": {"driver": "gpuOperator"}, "image": "ubuntu-gke"}
    assert compiled(pool).pool("turns").owners.driver == "gpuOperator"
    assert compiled(pool).addons.gpu_operator.driver


def test_single_on_gke_and_mixed_of_the_operator_do_not_conflict() -> None:
    mixed = {
        "name": "mixed",
        "instanceTypes": ["a2-highgpu-1g"],
        "gke": {"driver": "gpuOperator"},
        "sharing": {"mig": {"layouts": [{"devices": {"3g.20gb": 1, "2g.10gb": 1}}]}},
    }
    plan = compiled(SLICED, mixed).addons.gpu_operator
    assert (plan.mig_strategy, plan.mig_manager) == ("mixed", True)
