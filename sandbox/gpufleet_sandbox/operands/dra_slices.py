"""Devices that the DRA driver publishes for one node, their counters, and their slices.

MIG devices are listed by the placements of the board's profiles on its memory slots; one counter
per slot prevents overlapping allocations. Layout of slices in Kubernetes 1.36: counters and devices
in separate slices, at most 8 counter sets and 64 counting devices each.
"""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from gpufleet_sandbox.operands.boards import Board, Shape
from gpufleet_sandbox.operands.dra_driver import DRIVER_NAME, SimulatedDraDriver
from gpufleet_sandbox.operands.hardware import SimulatedHardware, SlotGpu
from gpufleet_sandbox.operands.silicon import GpuState

MOST_COUNTER_SETS = 8
MOST_COUNTING_DEVICES = 64
MOST_DEVICES = 128

Slice = dict[str, Any]
"""`devices` or `sharedCounters` of one ResourceSlice."""

_GPU_INSTANCE_IDS = {
    (1, 1, ""): 19, (1, 1, "+me"): 20, (1, 2, ""): 15, (2, 2, ""): 14,
    (3, 4, ""): 9, (4, 4, ""): 5, (7, 8, ""): 0,
}  # fmt: skip
_QUARTER_IDS = {
    (1, ""): 14, (1, "+me"): 21, (1, "+gfx"): 47, (1, "+me.all"): 65, (1, "-me"): 67,
    (2, ""): 5, (2, "+me"): 6, (2, "+gfx"): 35, (2, "+me.all"): 64, (2, "-me"): 66,
    (4, ""): 0, (4, "+gfx"): 32,
}  # fmt: skip
"""Ids of GPU instance profiles in `nvidia-smi mig -lgip`: part of a device's name."""


def slices(
    node: str,
    hardware: SimulatedHardware,
    states: Sequence[GpuState],
    driver: SimulatedDraDriver,
    version: str,
) -> list[Slice]:
    """All slices of a node's pool, in order. `version`: the GPU driver's."""
    per_gpu: list[list[dict[str, Any]]] = []
    counters: list[dict[str, Any]] = []
    for gpu, state in zip(hardware.gpus, states, strict=True):
        facts = _facts(gpu, version)
        if driver.gates["DynamicMIG"] and _cuts_on_demand(gpu.board):
            counters.append({"name": _counter_set(gpu), "counters": _totals(gpu.board)})
            per_gpu.append(list(_on_demand(node, gpu, facts)))
        elif state.mig_enabled:
            per_gpu.append(list(_as_cut(node, gpu, state, facts)))
        else:
            per_gpu.append([_whole(node, gpu, facts)])
    found: list[Slice] = [{"sharedCounters": part} for part in _parts(counters, MOST_COUNTER_SETS)]
    if counters:
        for devices in per_gpu:
            found += [{"devices": part} for part in _parts(devices, MOST_COUNTING_DEVICES)]
    else:
        everything = [device for devices in per_gpu for device in devices]
        found += [{"devices": part} for part in _parts(everything, MOST_DEVICES)]
    return found


def uuid_of(node: str, gpu: SlotGpu) -> str:
    """The same UUID for the same GPU of the same node, as on real hardware."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{node}/{gpu.index}')}"


def _cuts_on_demand(board: Board) -> bool:
    """Where MIG mode changes only by a reset, the driver serves the GPU in its present mode."""
    return board.mig_capable and not board.mode_change_needs_reset


def _parts(items: list[dict[str, Any]], most: int) -> Iterator[list[dict[str, Any]]]:
    for first in range(0, len(items), most):
        yield items[first : first + most]


def _facts(gpu: SlotGpu, version: str) -> dict[str, Any]:
    major, minor = gpu.board.compute_capability
    return {
        "productName": {"string": gpu.board.product},
        "brand": {"string": "Nvidia" if "NVIDIA" in gpu.board.product else "Tesla"},
        "architecture": {"string": gpu.board.family.title().replace("-", " ")},
        "cudaComputeCapability": {"version": f"{major}.{minor}.0"},
        "driverVersion": {"version": _semantic(version)},
        "cudaDriverVersion": {"version": "13.0.0"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{gpu.index:02x}"},
    }


def _semantic(version: str) -> str:
    """`595.91.07` is not a semantic version: numbers there have no leading zero."""
    numbers = [str(int(part)) for part in version.split(".") if part.isdigit()]
    return ".".join([*numbers, "0", "0", "0"][:3])


def _whole(node: str, gpu: SlotGpu, facts: dict[str, Any]) -> dict[str, Any]:
    identity = {"type": {"string": "gpu"}, "uuid": {"string": uuid_of(node, gpu)}}
    return {
        "name": f"gpu-{gpu.index}",
        "attributes": {**identity, **facts},
        "capacity": {"memory": {"value": f"{gpu.memory_mib}Mi"}},
    }


def _mig(
    node: str, gpu: SlotGpu, shape: Shape, start: int, profile: str, facts: dict[str, Any]
) -> dict[str, Any]:
    identity = {
        "type": {"string": "mig"},
        "parentUUID": {"string": uuid_of(node, gpu)},
        "profile": {"string": profile},
    }
    capacity = {"memory": {"value": f"{_memory(gpu, shape)}Mi"}}
    capacity["decoders"] = {"value": str(shape.decoders)}
    capacity["ofaEngines"] = {"value": str(shape.flow_units)}
    if shape.multiprocessors is not None:
        capacity["multiprocessors"] = {"value": str(shape.multiprocessors)}
    return {
        "name": _mig_name(gpu, shape, start, profile),
        "attributes": {**identity, **facts},
        "capacity": capacity,
    }


def _memory(gpu: SlotGpu, shape: Shape) -> int:
    return shape.memory_mib or gpu.memory_mib * shape.width // gpu.board.memory_slots


def _mig_name(gpu: SlotGpu, shape: Shape, start: int, profile: str) -> str:
    tail = shape.name.partition("gb")[2]
    if gpu.board.memory_slots == 8:
        number = _GPU_INSTANCE_IDS[(shape.compute, shape.width, tail)]
    else:
        number = _QUARTER_IDS[(shape.compute, tail)]
    plain = "".join(c if c.isalnum() else "-" for c in profile.replace(".", ""))
    return f"gpu-{gpu.index}-mig-{plain}-{number}-{start}"


def _on_demand(node: str, gpu: SlotGpu, facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The GPU and every possible placement of a MIG device, each with its counters."""
    name, totals = _counter_set(gpu), _totals(gpu.board)
    yield {
        **_whole(node, gpu, facts),
        "consumesCounters": [{"counterSet": name, "counters": totals}],
    }
    devices: list[dict[str, Any]] = []
    for shape in gpu.board.shapes:
        for start in shape.starts:
            device = _mig(node, gpu, shape, start, shape.name, facts)
            taken = _taken(gpu.board, shape, start)
            devices.append(
                {**device, "consumesCounters": [{"counterSet": name, "counters": taken}]}
            )
    yield from sorted(devices, key=lambda device: device["name"])


def _as_cut(
    node: str, gpu: SlotGpu, state: GpuState, facts: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """MIG devices that are there already."""
    for number, cut in enumerate(state.devices):
        shape = gpu.board.shape(cut.shape_name)
        if shape is None:
            continue
        device = _mig(node, gpu, shape, cut.start, cut.profile, facts)
        if not cut.whole_instance:
            device["name"] += f"-{number}"
        identity = uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}/{device['name']}")
        device["attributes"]["uuid"] = {"string": f"MIG-{identity}"}
        for slot in range(cut.start, cut.start + shape.width):
            device["capacity"][f"memorySlice{slot}"] = {"value": "1"}
        yield device


def _counter_set(gpu: SlotGpu) -> str:
    return f"gpu-{gpu.index}-counter-set"


def _counted(board: Board) -> list[str]:
    """Amounts known for every shape of the board."""
    names = ["decoders", "ofa-engines"]
    if all(shape.multiprocessors is not None for shape in board.shapes):
        names.append("multiprocessors")
    return names


def _amount(shape: Shape, name: str) -> int:
    amounts = {
        "decoders": shape.decoders,
        "ofa-engines": shape.flow_units,
        "multiprocessors": shape.multiprocessors or 0,
    }
    return amounts[name]


def _totals(board: Board) -> dict[str, Any]:
    totals = {name: max(_amount(s, name) for s in board.shapes) for name in _counted(board)}
    totals |= {f"memory-slice-{slot}": 1 for slot in range(board.memory_slots)}
    return {name: {"value": str(amount)} for name, amount in totals.items()}


def _taken(board: Board, shape: Shape, start: int) -> dict[str, Any]:
    taken = {name: _amount(shape, name) for name in _counted(board)}
    taken |= {f"memory-slice-{slot}": 1 for slot in range(start, start + shape.width)}
    return {name: {"value": str(amount)} for name, amount in taken.items()}


def objects(node: str, uid: str, found: Sequence[Slice], generation: int) -> list[dict[str, Any]]:
    """The ResourceSlices of one generation of a node's pool; they go when the node goes."""
    made: list[dict[str, Any]] = []
    for number, content in enumerate(found):
        digest = hashlib.sha256(f"{uid}/{generation}/{number}".encode()).hexdigest()[:8]
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
        made.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {
                    "name": f"{node}-{DRIVER_NAME}-{digest}",
                    "ownerReferences": [owner],
                },
                "spec": {
                    "driver": DRIVER_NAME,
                    "nodeName": node,
                    "pool": {
                        "name": node,
                        "generation": generation,
                        "resourceSliceCount": len(found),
                    },
                    **content,
                },
            }
        )
    return made
