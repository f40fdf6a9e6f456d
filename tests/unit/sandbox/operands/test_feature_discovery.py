"""The labels of section 6, in the cases NVIDIA's own tests distinguish."""

from collections.abc import Callable

import pytest

from gpufleet_sandbox.operands.device_plugin_config import Replicated, SharingInForce
from gpufleet_sandbox.operands.feature_discovery import DiscoveryError, discover, owns
from gpufleet_sandbox.operands.hardware import SimulatedHardware
from gpufleet_sandbox.operands.silicon import GpuState, cut

Build = Callable[..., SimulatedHardware]
A100, L4 = "NVIDIA A100-SXM4-80GB", "NVIDIA L4"
OFF = GpuState()


def labels(
    node: SimulatedHardware,
    states: tuple[GpuState, ...],
    strategy: str,
    sharing: SharingInForce | None = None,
) -> dict[str, str]:
    found = discover(node, states, strategy, sharing, "580.95.05")
    assert all(len(value) <= 63 and "+" not in value for value in found.values())
    assert all(owns(key) for key in found)
    return {key.removeprefix("nvidia.com/"): value for key, value in found.items()}


def slicing(replicas: int, rename: bool = False, name: str = "nvidia.com/gpu") -> SharingInForce:
    return SharingInForce("time-slicing", rename, False, (Replicated(name, replicas),))


def test_whole_gpus(build: Build) -> None:
    found = labels(build(L4, 4), (OFF,) * 4, "none")
    expected = {
        "gpu.product": "NVIDIA-L4",
        "gpu.count": "4",
        "gpu.replicas": "1",
        "gpu.memory": "23034",
        "gpu.family": "ada-lovelace",
        "gpu.compute.major": "8",
        "gpu.compute.minor": "9",
        "gpu.sharing-strategy": "none",
        "mig.capable": "false",
        "mps.capable": "false",
        "cuda.driver-version.full": "580.95.05",
        "cuda.driver-version.major": "580",
        "cuda.driver-version.revision": "05",
    }
    assert expected.items() <= found.items()
    assert "mig.strategy" not in found


def test_sharing_marks_the_product_unless_renamed(build: Build) -> None:
    node = build(L4, 1)
    plain, renamed = (labels(node, (OFF,), "none", slicing(8, rename)) for rename in (False, True))
    assert (plain["gpu.product"], plain["gpu.replicas"]) == ("NVIDIA-L4-SHARED", "8")
    assert (renamed["gpu.product"], renamed["gpu.replicas"]) == ("NVIDIA-L4", "8")
    assert plain["gpu.sharing-strategy"] == "time-slicing"


def test_single_describes_the_devices(build: Build) -> None:
    node = build(A100, 2)
    states = tuple(GpuState(True, cut(gpu.board, {"1g.10gb": 7})) for gpu in node.gpus)
    found = labels(node, states, "single", slicing(2))
    expected = {
        "gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED",
        "gpu.count": "14",
        "gpu.replicas": "2",
        "gpu.memory": "9728",
        "gpu.multiprocessors": "14",
        "gpu.slices.gi": "1",
        "mig.strategy": "single",
        "mig.capable": "true",
    }
    assert expected.items() <= found.items()


@pytest.mark.parametrize(
    "layouts", [({"1g.10gb": 7}, {"3g.40gb": 2}), ({"1g.10gb": 7}, None), ({"1g.10gb": 7}, {})]
)
def test_single_marks_what_it_cannot_describe(
    build: Build, layouts: tuple[dict[str, int] | None, ...]
) -> None:
    node = build(A100, 2)
    states = tuple(
        OFF if layout is None else GpuState(True, cut(gpu.board, layout))
        for gpu, layout in zip(node.gpus, layouts, strict=True)
    )
    found = labels(node, states, "single")
    assert found["gpu.product"] == "NVIDIA-A100-SXM4-80GB-MIG-INVALID"
    assert {found[f"gpu.{name}"] for name in ("count", "replicas", "memory")} == {"0"}


def test_mixed_describes_gpus_and_each_profile(build: Build) -> None:
    node = build(A100, 2)
    layout = cut(node.gpus[0].board, {"1g.10gb+me": 1, "3g.40gb": 1})
    sharing = slicing(3, name="nvidia.com/mig-3g.40gb")
    found = labels(node, (GpuState(True, layout), OFF), "mixed", sharing)
    expected = {
        "gpu.product": "NVIDIA-A100-SXM4-80GB",
        "gpu.count": "2",
        "gpu.replicas": "1",
        "mig-1g.10gb.me.count": "1",
        "mig-1g.10gb.me.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me",
        "mig-1g.10gb.me.sharing-strategy": "none",
        "mig-1g.10gb.me.engines.ofa": "1",
        "mig-3g.40gb.product": "NVIDIA-A100-SXM4-80GB-MIG-3g.40gb-SHARED",
        "mig-3g.40gb.replicas": "3",
        "mig-3g.40gb.sharing-strategy": "time-slicing",
        "mig-3g.40gb.memory": "40192",
    }
    assert expected.items() <= found.items()


def test_gpus_all_in_mig_mode_have_no_replicas(build: Build) -> None:
    node = build(A100, 1)
    states = (GpuState(True, cut(node.gpus[0].board, {"7g.80gb": 1})),)
    for strategy in ("none", "mixed"):
        assert labels(node, states, strategy, slicing(4))["gpu.replicas"] == "0"


def test_mps_is_for_whole_gpus(build: Build) -> None:
    mps = SharingInForce("mps", False, True, (Replicated("nvidia.com/gpu", 4),))
    found = labels(build(L4, 1), (OFF,), "none", mps)
    assert (found["mps.capable"], found["gpu.sharing-strategy"]) == ("true", "mps")
    node = build(A100, 1)
    with pytest.raises(DiscoveryError, match="not supported for mig devices"):
        discover(node, (GpuState(True),), "none", mps, "580.95.05")


def test_driver_versions_have_two_or_three_parts(build: Build) -> None:
    node = build(L4, 1)
    found = discover(node, (OFF,), "none", None, "580.95")
    assert found["nvidia.com/cuda.driver-version.revision"] == ""
    with pytest.raises(DiscoveryError, match="does not match format"):
        discover(node, (OFF,), "none", None, "580")


@pytest.mark.parametrize(
    "label",
    [
        "nvidia.com/gpu.present",
        "nvidia.com/gpu.deploy.dcgm",
        "nvidia.com/mig.config",
        "nvidia.com/mig.config.state",
        "nvidia.com/device-plugin.config",
        "nvidia.com/gpu.workload.config",
        "kubernetes.io/hostname",
    ],
)
def test_labels_of_others_are_left_alone(label: str) -> None:
    assert not owns(label)
