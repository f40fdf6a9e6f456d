"""GPU Feature Discovery: the labels that describe the GPUs of a node.

Follows GFD's labellers (DP `internal/lm`): whole-GPU labels first, overridden under the single
strategy by those of the MIG devices, joined under mixed by one set per profile. Left out: the
timestamp, CUDA runtime versions, the fabric clique, the driver of a vGPU's host.
"""

import re
from collections import Counter

from gpufleet_sandbox.operands.boards import Board, Shape
from gpufleet_sandbox.operands.device_plugin import GPU_RESOURCE, mig_resource
from gpufleet_sandbox.operands.device_plugin_config import SharingInForce
from gpufleet_sandbox.operands.hardware import SimulatedHardware, SlotGpu
from gpufleet_sandbox.operands.silicon import GpuState

States = tuple[GpuState, ...]

_OWNED = re.compile(
    r"^nvidia\.com/("
    r"gpu(\.shared)?\.(product|count|replicas|memory|family|machine|mode|sharing-strategy"
    r"|multiprocessors|compute\.(major|minor)|slices\.(gi|ci)|engines\.[a-z]+)"
    r"|mig\.(capable|strategy)|mps\.capable|vgpu\.present|cuda\..+"
    r"|mig-[0-9].*\.(count|product|memory|replicas|sharing-strategy|multiprocessors"
    r"|slices\.(gi|ci)|engines\.[a-z]+))$"
)


class DiscoveryError(Exception):
    """GFD ends with an error and publishes nothing."""


def owns(label: str) -> bool:
    """Whether a label is one of GFD's, to be removed when it no longer holds."""
    return _OWNED.match(label) is not None


def discover(
    hardware: SimulatedHardware,
    states: States,
    strategy: str,
    sharing: SharingInForce | None,
    driver: str,
) -> dict[str, str]:
    """All labels of a node with GPUs; raises DiscoveryError."""
    mps = sharing is not None and sharing.kind == "mps"
    if mps and any(state.mig_enabled for state in states):
        raise DiscoveryError("MPS sharing is not supported for mig devices")
    labels = {
        "nvidia.com/gpu.machine": "gpufleet-sandbox",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mig.capable": _text(hardware.mig_capable),
        "nvidia.com/mps.capable": _text(mps),
    }
    if any(gpu.board.virtual for gpu in hardware.gpus):
        labels["nvidia.com/vgpu.present"] = "true"
    labels |= _driver_labels(driver)
    labels |= _whole_gpus(hardware, states, sharing)
    if strategy == "none":
        return labels
    labels["nvidia.com/mig.strategy"] = strategy
    if any(state.mig_enabled for state in states):
        labels |= (_single if strategy == "single" else _mixed)(hardware, states, sharing)
    return labels


def _whole_gpus(
    hardware: SimulatedHardware, states: States, sharing: SharingInForce | None
) -> dict[str, str]:
    """The last one of several kinds of GPU labels the node; a whole GPU before MIG mode."""
    labels: dict[str, str] = {}
    counts = Counter(gpu.board.product for gpu in hardware.gpus)
    pairs = list(zip(hardware.gpus, states, strict=True))
    for gpu, state in sorted(pairs, key=lambda pair: not pair[1].mig_enabled):
        shared = None if state.mig_enabled else sharing
        labels |= _base(GPU_RESOURCE, counts[gpu.board.product], [gpu.board.product], shared)
        if state.mig_enabled:
            labels[f"{GPU_RESOURCE}.replicas"] = "0"
        major, minor = gpu.board.compute_capability
        labels |= {
            f"{GPU_RESOURCE}.memory": str(gpu.memory_mib),
            f"{GPU_RESOURCE}.family": gpu.board.family,
            f"{GPU_RESOURCE}.compute.major": str(major),
            f"{GPU_RESOURCE}.compute.minor": str(minor),
        }
    return labels


def _single(
    hardware: SimulatedHardware, states: States, sharing: SharingInForce | None
) -> dict[str, str]:
    profiles = Counter(device.profile for state in states for device in state.devices)
    empty = any(state.mig_enabled and not state.devices for state in states)
    if empty or len(profiles) != 1 or not all(state.mig_enabled for state in states):
        first = next(g for g, s in zip(hardware.gpus, states, strict=True) if s.mig_enabled)
        return {
            f"{GPU_RESOURCE}.product": f"{_model(first.board)}-MIG-INVALID",
            f"{GPU_RESOURCE}.count": "0",
            f"{GPU_RESOURCE}.replicas": "0",
            f"{GPU_RESOURCE}.memory": "0",
        }
    (profile, count), *_ = profiles.items()
    gpu, shape = _example(hardware, states, profile)
    return _mig_labels(GPU_RESOURCE, count, gpu, shape, profile, sharing)


def _mixed(
    hardware: SimulatedHardware, states: States, sharing: SharingInForce | None
) -> dict[str, str]:
    labels: dict[str, str] = {}
    profiles = Counter(device.profile for state in states for device in state.devices)
    for profile, count in profiles.items():
        gpu, shape = _example(hardware, states, profile)
        resource = mig_resource(_suffix(profile))
        labels |= _mig_labels(resource, count, gpu, shape, profile, sharing)
    return labels


def _mig_labels(
    resource: str,
    count: int,
    gpu: SlotGpu,
    shape: Shape,
    profile: str,
    sharing: SharingInForce | None,
) -> dict[str, str]:
    labels = _base(resource, count, [gpu.board.product, "MIG", _suffix(profile)], sharing)
    estimate = gpu.memory_mib * shape.width // gpu.board.memory_slots
    labels |= {
        f"{resource}.memory": str(shape.memory_mib or estimate),
        f"{resource}.slices.gi": str(shape.compute),
        f"{resource}.slices.ci": str(shape.compute),
        f"{resource}.engines.decoder": str(shape.decoders),
        f"{resource}.engines.ofa": str(shape.flow_units),
    }
    if shape.multiprocessors is not None:
        labels[f"{resource}.multiprocessors"] = str(shape.multiprocessors)
    return labels


def _base(
    resource: str, count: int, product: list[str], sharing: SharingInForce | None
) -> dict[str, str]:
    replicas = sharing.replicas(resource) if sharing else 1
    marked = sharing is not None and replicas > 1 and not sharing.rename
    parts = [part.replace(" ", "-") for part in product] + (["SHARED"] if marked else [])
    return {
        f"{resource}.product": "-".join(parts),
        f"{resource}.count": str(count),
        f"{resource}.replicas": str(replicas),
        f"{resource}.sharing-strategy": sharing.kind if sharing and replicas > 1 else "none",
    }


def _example(hardware: SimulatedHardware, states: States, profile: str) -> tuple[SlotGpu, Shape]:
    for gpu, state in zip(hardware.gpus, states, strict=True):
        device = next((d for d in state.devices if d.profile == profile), None)
        shape = gpu.board.shape(device.shape_name) if device else None
        if shape is not None:
            return gpu, shape
    raise DiscoveryError(f"no GPU holds {profile}")


def _driver_labels(driver: str) -> dict[str, str]:
    parts = driver.split(".")
    if not 2 <= len(parts) <= 3:
        raise DiscoveryError(f'driver version "{driver}" does not match format "X.Y[.Z]"')
    revision = parts[2] if len(parts) == 3 else ""
    prefix = "nvidia.com/cuda.driver-version"
    return {
        f"{prefix}.major": parts[0],
        f"{prefix}.minor": parts[1],
        f"{prefix}.revision": revision,
        f"{prefix}.full": driver,
    }


def _model(board: Board) -> str:
    return board.product.replace(" ", "-")


def _suffix(profile: str) -> str:
    return profile.replace("+", ".").replace(",", ".")


def _text(value: bool) -> str:
    return "true" if value else "false"
