"""Guests with vGPUs: what a pool's machines are given, and what the operands make of it."""

import json
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.sandbox.simulated_node import hardware
from gpufleet_sandbox.operands.device_plugin import advertise
from gpufleet_sandbox.operands.feature_discovery import discover, owns
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, SimulatedHardware, read_hardware
from gpufleet_sandbox.operands.silicon import GpuState
from gpufleet_sandbox.operands.virtual_boards import virtual_board
from tests.unit.render.published_labels import published_labels


def guest(profile: str) -> tuple[Any, SimulatedHardware]:
    """A pool of machines with eight vGPUs, and what one of them carries."""
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "c"},
            "pools": [
                {
                    "name": "guests",
                    "gpu": "A100-80GB",
                    "gpusPerNode": 8,
                    "nodes": {"min": 1, "max": 1},
                    "sharing": {"vgpu": {"profile": profile, "licenseSecret": "vgpu-licence"}},
                }
            ],
        }
    )
    assert compiled.fleet is not None, compiled.findings
    (pool,) = compiled.fleet.pools
    described = json.dumps(hardware(pool, pool.machines[0], load()))
    return pool, read_hardware({HARDWARE_ANNOTATION: described})


@pytest.mark.parametrize(
    ("profile", "product", "gib"),
    [
        ("grid_a100d-40c", "NVIDIA A100D-40C", 40),
        ("nvidia_a100d-3-40c", "NVIDIA A100D-3-40C", 40),
        ("a100dx-1-10cme", "NVIDIA A100DX-1-10CME", 10),
    ],
)
def test_each_vgpu_is_a_whole_device_of_its_own_name(profile: str, product: str, gib: int) -> None:
    pool, machine = guest(profile)
    assert {gpu.board.product for gpu in machine.gpus} == {product}
    assert {gpu.memory_mib for gpu in machine.gpus} == {gib * 1024}
    assert not machine.mig_capable
    states = tuple(GpuState() for _ in machine.gpus)
    assert advertise(machine, states, "mixed", None).resources == dict(pool.advertised)
    assert dict(pool.advertised) == {"nvidia.com/gpu": 8}


def test_labels_are_those_of_the_vgpu() -> None:
    pool, machine = guest("grid_a100d-3-40c")
    states = tuple(GpuState() for _ in machine.gpus)
    labels = discover(machine, states, "single", None, "580.95.05")
    predicted = published_labels(pool.gpu, pool.partition, "single")
    assert predicted.items() <= labels.items()
    assert labels["nvidia.com/vgpu.present"] == "true"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100D-3-40C"
    assert labels["nvidia.com/gpu.memory"] == "40960"
    assert labels["nvidia.com/mig.capable"] == "false"
    assert not {"nvidia.com/gpu.product", "nvidia.com/gpu.memory"} & set(predicted)
    assert owns("nvidia.com/vgpu.present")


def test_every_board_of_the_catalogue_is_known() -> None:
    gpus = [gpu.vgpu for gpu in load().gpus.values() if gpu.vgpu]
    boards = {f"{vgpu.printed}{name}" for vgpu in gpus for name in vgpu.names}
    assert len(boards) > 30
    for board in sorted(boards):
        found = virtual_board(f"NVIDIA {board}-4C")
        assert found is not None, board
        assert found.virtual


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB", "NVIDIA Q9-4C", "A100D-4C", "NVIDIA L4"])
def test_other_names_are_no_vgpus(name: str) -> None:
    assert virtual_board(name) is None
