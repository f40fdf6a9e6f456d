"""Nodes to play with."""

import json
from collections.abc import Callable

import pytest

from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, SimulatedHardware, read_hardware

Build = Callable[..., SimulatedHardware]
MEMORY = {
    "NVIDIA A100-SXM4-80GB": 81920,
    "NVIDIA H100 80GB HBM3": 81559,
    "NVIDIA L4": 23034,
    "Tesla V100-SXM2-16GB": 16160,
}


@pytest.fixture(scope="session")
def build() -> Build:
    """`build("NVIDIA L4", 4)`, or several pairs; keywords go into the annotation."""

    def make(*groups: str | int, **keys: object) -> SimulatedHardware:
        pairs = zip(groups[::2], groups[1::2], strict=True)
        gpus = [
            {"product": product, "memoryMiB": MEMORY[str(product)], "count": count}
            for product, count in pairs
        ]
        data = {"gpus": gpus, "cpu": "96", "memory": "1152Gi", "driver": "580.95.05", **keys}
        return read_hardware({HARDWARE_ANNOTATION: json.dumps(data)})

    return make
