"""Strategies of section 4.5 and the sharing rules that show only at run time."""

from collections.abc import Callable

import pytest

from gpufleet_sandbox.operands.device_plugin import PluginError, advertise
from gpufleet_sandbox.operands.device_plugin_config import Replicated, SharingInForce
from gpufleet_sandbox.operands.hardware import SimulatedHardware
from gpufleet_sandbox.operands.silicon import GpuState, cut

Build = Callable[..., SimulatedHardware]
A100, L4, V100 = "NVIDIA A100-SXM4-80GB", "NVIDIA L4", "Tesla V100-SXM2-16GB"
OFF = GpuState()


def states(node: SimulatedHardware, *layouts: dict[str, int] | None) -> tuple[GpuState, ...]:
    """One layout per GPU; None: MIG off."""
    return tuple(
        OFF if layout is None else GpuState(True, cut(gpu.board, layout))
        for gpu, layout in zip(node.gpus, layouts, strict=True)
    )


def shared(kind: str, rename: bool = False, **replicas: int) -> SharingInForce:
    names = {"gpu": "nvidia.com/gpu", "mig": "nvidia.com/mig-1g.10gb"}
    return SharingInForce(
        kind, rename, False, tuple(Replicated(names[key], count) for key, count in replicas.items())
    )


@pytest.mark.parametrize("strategy", ["none", "single", "mixed"])
def test_whole_gpus_whatever_the_strategy(build: Build, strategy: str) -> None:
    node = build(A100, 8)
    assert advertise(node, (OFF,) * 8, strategy, None).resources == {"nvidia.com/gpu": 8}


def test_none_counts_gpus_in_mig_mode(build: Build) -> None:
    node = build(A100, 2)
    cut_up = states(node, {"1g.10gb": 7}, None)
    assert advertise(node, cut_up, "none", None).resources == {"nvidia.com/gpu": 2}


def test_single_counts_devices(build: Build) -> None:
    node = build(A100, 2)
    cut_up = states(node, {"1g.10gb": 7}, {"1g.10gb": 6})
    assert advertise(node, cut_up, "single", None).resources == {"nvidia.com/gpu": 13}


@pytest.mark.parametrize(
    ("layouts", "reason"),
    [
        (({"1g.10gb": 7}, {"3g.40gb": 2}), "more than one MIG device type present on node"),
        (({"1g.10gb": 7}, None), "configured with the same migEnabled value"),
        (({"1g.10gb": 7}, {}), "device 1 has no MIG devices configured"),
    ],
)
def test_single_refuses(
    build: Build, layouts: tuple[dict[str, int] | None, ...], reason: str
) -> None:
    node = build(A100, 2)
    with pytest.raises(PluginError, match=reason):
        advertise(node, states(node, *layouts), "single", None)


def test_mixed_names_each_profile(build: Build) -> None:
    node = build(A100, 3)
    cut_up = states(node, {"1g.10gb+me": 1, "1g.10gb": 6}, {"3g.40gb": 2}, None)
    assert advertise(node, cut_up, "mixed", None).resources == {
        "nvidia.com/mig-1g.10gb": 6,
        "nvidia.com/mig-1g.10gb.me": 1,
        "nvidia.com/mig-3g.40gb": 2,
        "nvidia.com/gpu": 1,
    }


def test_mixed_only_warns_of_an_empty_gpu(build: Build) -> None:
    node = build(A100, 2)
    advertised = advertise(node, states(node, {}, None), "mixed", None)
    assert advertised.resources == {"nvidia.com/gpu": 1}
    assert advertised.warnings == ("GPU 0 is in MIG mode and holds no MIG device",)


def test_compute_instances_only_under_single(build: Build) -> None:
    node = build(A100, 1)
    cut_up = states(node, {"1c.3g.40gb": 3})
    assert advertise(node, cut_up, "single", None).resources == {"nvidia.com/gpu": 3}
    with pytest.raises(PluginError, match=r"1c.3g.40gb does not match any resource patterns"):
        advertise(node, cut_up, "mixed", None)


def test_time_slicing_multiplies_and_renames(build: Build) -> None:
    node = build(L4, 4)
    plain = advertise(node, (OFF,) * 4, "none", shared("time-slicing", gpu=10))
    renamed = advertise(node, (OFF,) * 4, "none", shared("time-slicing", True, gpu=10))
    assert plain.resources == {"nvidia.com/gpu": 40}
    assert renamed.resources == {"nvidia.com/gpu.shared": 40}


def test_time_slicing_of_slices(build: Build) -> None:
    node = build(A100, 2)
    cut_up = states(node, {"1g.10gb": 7}, None)
    advertised = advertise(node, cut_up, "mixed", shared("time-slicing", True, mig=2))
    assert advertised.resources == {"nvidia.com/mig-1g.10gb.shared": 14, "nvidia.com/gpu": 1}


def test_dp14_sharing_what_the_node_has_not(build: Build) -> None:
    node = build(A100, 1)
    cut_up = states(node, {"1g.10gb": 7})
    advertised = advertise(node, cut_up, "single", shared("time-slicing", mig=4))
    assert advertised.resources == {"nvidia.com/gpu": 7}
    assert "nvidia.com/mig-1g.10gb is shared in the config but the node has none" in (
        advertised.warnings
    )


@pytest.mark.parametrize("strategy", ["none", "single"])
def test_dp9_mps_on_a_gpu_in_mig_mode(build: Build, strategy: str) -> None:
    node = build(A100, 1)
    with pytest.raises(PluginError, match="MPS is not supported for MIG devices"):
        advertise(node, states(node, {"1g.10gb": 7}), strategy, shared("mps", gpu=4))


@pytest.mark.parametrize(("product", "limit"), [(L4, 48), (V100, 16)])
def test_dp10_mps_clients(build: Build, product: str, limit: int) -> None:
    node = build(product, 1)
    most = advertise(node, (OFF,), "none", shared("mps", gpu=limit))
    assert most.resources == {"nvidia.com/gpu": limit}
    with pytest.raises(PluginError, match=f"{limit + 1} > {limit} on {product}"):
        advertise(node, (OFF,), "none", shared("mps", gpu=limit + 1))


def test_a_node_without_gpus_advertises_nothing(build: Build) -> None:
    assert advertise(build(), (), "mixed", None).resources == {}
