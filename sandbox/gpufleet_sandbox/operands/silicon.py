"""Cutting one GPU into MIG devices, in the way the driver and mig-parted do it together.

The driver is requested one instance after the other and chooses the start itself; mig-parted tries
every distinct order until one succeeds. No sum of slices is compared with a limit here: an order
either finds a free start for each instance or it does not.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.operands.boards import Board, Shape

_COMPUTE_SPLITS = {1: (1,), 2: (1, 2), 3: (1, 2, 3), 4: (1, 2, 4), 7: (1, 2, 3, 4, 7)}
"""Compute slices of a GPU instance -> sizes of compute instances it can hold."""

_SPLIT = re.compile(r"^([1-9][0-9]*)c\.(.+)$")


class PlacementError(Exception):
    """The hardware does not hold the requested MIG devices."""


@dataclass(frozen=True, slots=True)
class MigDevice:
    """One MIG device: a compute instance inside a GPU instance."""

    profile: str
    """With the `<c>c.` prefix when it is only part of its GPU instance."""
    gpu_instance: int
    """Number of its GPU instance; devices with the same number share memory."""
    start: int
    """First memory slot of the GPU instance."""

    @property
    def shape_name(self) -> str:
        """The GPU instance's profile, without a compute prefix."""
        return split_profile(self.profile)[1]

    @property
    def whole_instance(self) -> bool:
        """Whether the device has its GPU instance to itself."""
        return split_profile(self.profile)[0] is None


@dataclass(frozen=True, slots=True)
class GpuState:
    """MIG mode of one GPU and the devices on it."""

    mig_enabled: bool = False
    devices: tuple[MigDevice, ...] = ()

    @property
    def counts(self) -> Counter[str]:
        """Devices by profile, as `nvidia-mig-parted export` lists them."""
        return Counter(device.profile for device in self.devices)


def split_profile(profile: str) -> tuple[int | None, str]:
    """`1c.3g.40gb` -> (1, `3g.40gb`); `3g.40gb` -> (None, `3g.40gb`)."""
    match = _SPLIT.match(profile)
    return (int(match[1]), match[2]) if match else (None, profile)


@dataclass(frozen=True, slots=True)
class _Instance:
    shape: Shape
    start: int
    compute_left: int


def cut(board: Board, wanted: Mapping[str, int]) -> tuple[MigDevice, ...]:
    """Create the devices on an empty GPU; raises PlacementError naming what blocks it.

    A count of zero requests nothing. Orders sharing a beginning share its work, so that the search
    ends early where a beginning already fails.
    """
    requests = Counter({name: count for name, count in wanted.items() if count > 0})
    for name in requests:
        parts, shape_name = split_profile(name)
        shape = board.shape(shape_name)
        if shape is None:
            known = ", ".join(shape.name for shape in board.shapes)
            raise PlacementError(f"no profile {shape_name} on {board.product}; it has {known}")
        if parts is not None and parts not in _COMPUTE_SPLITS[shape.compute]:
            raise PlacementError(f"{shape_name} cannot hold a compute instance of {parts} slices")
    if requests.total() > board.compute_slices:
        raise PlacementError(
            f"all orderings failed: {requests.total()} devices on {board.compute_slices} slices"
        )
    for devices in _orders(board, requests, (), ()):
        return devices
    text = ", ".join(f"{count} x {name}" for name, count in requests.items())
    raise PlacementError(f"all orderings failed: {text} does not fit on one {board.product}")


def _orders(
    board: Board,
    left: Counter[str],
    instances: tuple[_Instance, ...],
    made: tuple[MigDevice, ...],
) -> Iterator[tuple[MigDevice, ...]]:
    if not left.total():
        yield made
        return
    for name in [name for name, count in left.items() if count]:
        created = _create(board, instances, name)
        if created is None:
            continue
        now, device = created
        yield from _orders(board, left - Counter({name: 1}), now, (*made, device))


def _create(
    board: Board, instances: tuple[_Instance, ...], name: str
) -> tuple[tuple[_Instance, ...], MigDevice] | None:
    """One device more: in the instance made last if it has room, else in a new one."""
    parts, shape_name = split_profile(name)
    shape = board.shape(shape_name)
    assert shape is not None
    need = shape.compute if parts is None else parts
    if instances and instances[-1].shape == shape and instances[-1].compute_left >= need:
        last = instances[-1]
        grown = _Instance(shape, last.start, last.compute_left - need)
        return (*instances[:-1], grown), MigDevice(name, len(instances) - 1, last.start)
    start = _free_start(board, instances, shape)
    if start is None:
        return None
    profile = shape_name if need == shape.compute else name
    instance = _Instance(shape, start, shape.compute - need)
    return (*instances, instance), MigDevice(profile, len(instances), start)


def _free_start(board: Board, instances: Sequence[_Instance], shape: Shape) -> int | None:
    """The driver's choice: the highest start with free slots, engines and compute slices."""
    held = [instance.shape for instance in instances]
    if (
        sum(other == shape for other in held) >= shape.most
        or sum(other.compute for other in held) + shape.compute > board.compute_slices
        or sum(other.decoders for other in held) + shape.decoders > board.decoders
        or sum(other.flow_units for other in held) + shape.flow_units > board.flow_units
    ):
        return None
    taken = 0
    for instance in instances:
        taken |= _mask(instance.start, instance.shape.width)
    free = (start for start in reversed(shape.starts) if not taken & _mask(start, shape.width))
    return next(free, None)


def _mask(start: int, width: int) -> int:
    return ((1 << width) - 1) << start


def states_as_data(states: Sequence[GpuState]) -> list[dict[str, Any]]:
    """The JSON form kept in the node's annotation."""
    return [
        {
            "migEnabled": state.mig_enabled,
            "devices": [
                {"profile": d.profile, "gpuInstance": d.gpu_instance, "start": d.start}
                for d in state.devices
            ],
        }
        for state in states
    ]


def states_from_data(data: Any, gpus: int) -> tuple[GpuState, ...]:
    """Read the annotation back; anything unreadable or of another length is a factory-new node."""
    try:
        states = tuple(
            GpuState(
                bool(entry["migEnabled"]),
                tuple(
                    MigDevice(str(d["profile"]), int(d["gpuInstance"]), int(d["start"]))
                    for d in entry["devices"]
                ),
            )
            for entry in data
        )
    except (KeyError, TypeError, ValueError, json.JSONDecodeError):
        states = ()
    return states if len(states) == gpus else (GpuState(),) * gpus
