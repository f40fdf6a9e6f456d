"""Hardware of one simulated node, from its annotation."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.boards import BOARDS, Board, board_named
from gpufleet_sandbox.operands.neuron import CORES, NeuronDevices
from gpufleet_sandbox.operands.quantities import quantity
from gpufleet_sandbox.operands.virtual_boards import virtual_board

HARDWARE_ANNOTATION = "sandbox.gpufleet.dev/hardware"
"""JSON on the Node: `gpus` (list of product, memoryMiB, count), `cpu`, `memory`, and optionally
`nics` (how many), `driver` (version the image brings), `toolkit`, `gpuReset`, `pods`,
`ephemeralStorage`, `neuron` (chip and count)."""

SIMULATED_LABEL = "gpufleet.dev/simulated"
"""Nodes without this label (value `true`) are never touched."""

_KEYS = frozenset(
    {
        "gpus",
        "neuron",
        "nics",
        "cpu",
        "memory",
        "driver",
        "toolkit",
        "gpuReset",
        "pods",
        "ephemeralStorage",
    }
)


class HardwareError(ValueError):
    """The hardware annotation cannot be read; the message names the key and what is allowed."""


@dataclass(frozen=True, slots=True)
class SlotGpu:
    """One GPU in its slot."""

    index: int
    board: Board
    memory_mib: int


@dataclass(frozen=True, slots=True)
class SimulatedHardware:
    """Hardware of the machine, before any operand runs."""

    gpus: tuple[SlotGpu, ...]
    cpu: str
    memory: str
    driver: str | None
    """Driver version of the image; None: the driver container must bring it."""
    toolkit: bool
    """Whether the image brings the container toolkit. Default: when it brings the driver."""
    gpu_reset: bool
    """False where the hypervisor forbids a GPU reset, as on many cloud machines. Default true."""
    pods: str
    ephemeral_storage: str | None
    nics: int = 0
    """NVIDIA network cards: ConnectX-7 with InfiniBand ports, `ib0` and so on."""
    neuron: NeuronDevices | None = None
    """AWS accelerators."""

    @property
    def mig_capable(self) -> bool:
        """Whether any GPU supports MIG."""
        return any(gpu.board.mig_capable for gpu in self.gpus)


def read_hardware(annotations: Mapping[str, str]) -> SimulatedHardware:
    """Read the annotation; raises HardwareError."""
    text = annotations.get(HARDWARE_ANNOTATION)
    if text is None:
        raise HardwareError(f"the node has no annotation {HARDWARE_ANNOTATION}")
    try:
        data: Any = json.loads(text)
    except json.JSONDecodeError as problem:
        raise HardwareError(f"{HARDWARE_ANNOTATION} is not JSON: {problem}") from problem
    if not isinstance(data, dict):
        raise HardwareError(f"{HARDWARE_ANNOTATION} must be a JSON object")
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise HardwareError(
            f"unknown key {', '.join(unknown)}; known keys are {', '.join(sorted(_KEYS))}"
        )
    for key in ("cpu", "memory", *({"pods", "ephemeralStorage"} & set(data))):
        if not isinstance(data.get(key), str):
            raise HardwareError(f"{key} must be a Kubernetes quantity in quotes")
        try:
            quantity(data[key])
        except ValueError as problem:
            raise HardwareError(f"{key}: {problem}") from problem
    driver = data.get("driver") or None
    if driver is not None and not isinstance(driver, str):
        raise HardwareError("driver must be a version in quotes, such as '580.95.05'")
    nics = data.get("nics", 0)
    if type(nics) is not int or nics < 0:
        raise HardwareError("nics must be a whole number from 0 on")
    return SimulatedHardware(
        gpus=_gpus(data.get("gpus", [])),
        cpu=data["cpu"],
        memory=data["memory"],
        driver=driver,
        toolkit=bool(data.get("toolkit", driver is not None)),
        gpu_reset=bool(data.get("gpuReset", True)),
        pods=data.get("pods", "110"),
        ephemeral_storage=data.get("ephemeralStorage"),
        nics=nics,
        neuron=_neuron(data.get("neuron")),
    )


def _neuron(found: Any) -> NeuronDevices | None:
    if found is None:
        return None
    if not isinstance(found, dict) or set(found) != {"chip", "count"}:
        raise HardwareError("neuron must have chip and count only")
    if found["chip"] not in CORES:
        raise HardwareError(f"neuron.chip must be one of {', '.join(CORES)}")
    if type(found["count"]) is not int or found["count"] < 1:
        raise HardwareError("neuron.count must be a whole number above 0")
    return NeuronDevices(found["chip"], found["count"])


def _gpus(groups: Any) -> tuple[SlotGpu, ...]:
    if not isinstance(groups, list):
        raise HardwareError("gpus must be a list of {product, memoryMiB, count}")
    gpus: list[SlotGpu] = []
    for number, group in enumerate(groups):
        if not isinstance(group, dict) or set(group) != {"product", "memoryMiB", "count"}:
            raise HardwareError(f"gpus[{number}] must have product, memoryMiB and count only")
        product = str(group["product"])
        board = board_named(product) or virtual_board(product)
        if board is None:
            raise HardwareError(
                f"gpus[{number}].product {group['product']!r} is not a board the simulator knows: "
                f"{', '.join(sorted(BOARDS))}"
            )
        for key in ("memoryMiB", "count"):
            if type(group[key]) is not int or group[key] < 1:
                raise HardwareError(f"gpus[{number}].{key} must be a whole number above 0")
        first = len(gpus)
        gpus += [SlotGpu(first + n, board, group["memoryMiB"]) for n in range(group["count"])]
    return tuple(gpus)
