"""Devices as NVIDIA's DRA driver publishes them: attributes and capacities, for GPUs of the
catalogue.

Source: kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go, partitions.go
(0.4.1 and main); architecture: NVIDIA/go-nvlib pkg/nvlib/device/device.go GetArchitectureAsString.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpufleet.catalogue import Gpu, load
from gpufleet_policies.names import meanings

DRIVER = "gpu.nvidia.com"
KUBERNETES = "resource.kubernetes.io"
"""Domain of the attributes that several drivers publish."""
CLASSES: Mapping[str, str | None] = {
    name: kind or None for name, kind in meanings("device class of NVIDIA's DRA driver").items()
}
"""Device classes of the driver's chart -> type of their GPU devices."""
FORMER = {"index": "0.4", "minor": "0.4", "parentIndex": "0.4", "parentMinor": "0.4"}
"""Attributes that older drivers published -> the first driver without them."""

_ARCHITECTURES = {"ada-lovelace": "Ada Lovelace"}
_VALUES = {"text": "", "version": {"semver": (1, 0, 0)}, "number": 0, "boolean": False}
_AMOUNT = {"quantity": "1"}
_UNKNOWN: Mapping[str, Mapping[str, Any]] = {
    kind: {name: _VALUES[form] for name, form in meanings(f"attribute of {kind} devices").items()}
    for kind in ("gpu", "mig", "vfio")
}
"""Attributes whose value depends on the node."""
_ENGINES = ("multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")


@dataclass(frozen=True, slots=True)
class DraDevice:
    """One kind of device."""

    gpu: str
    """Catalogue key of the GPU."""
    type: str
    known: Mapping[str, Any]
    """Attributes of the driver's domain whose value follows from the GPU."""
    memory: int | None

    def variable(self, *, everything: bool, without: str | None = None) -> dict[str, Any]:
        """`device` for an expression. With `everything` also attributes whose value depends on the
        node, with some value."""
        attributes = {k: v for k, v in self.known.items() if k != without}
        capacity = {} if self.memory is None else {"memory": {"quantity": str(self.memory)}}
        shared: dict[str, Any] = {}
        if everything:
            attributes |= _UNKNOWN[self.type]
            shared = {"pcieRoot": "", "pciBusID": "", "numaNode": 0}
            capacity |= dict.fromkeys((*_ENGINES, "addressableMemory", *_SLICES), _AMOUNT)
            capacity.setdefault("memory", _AMOUNT)
        return {
            "driver": DRIVER,
            "attributes": {DRIVER: attributes, KUBERNETES: shared},
            "capacity": {DRIVER: capacity, KUBERNETES: {}},
            "allowMultipleAllocations": False,
        }


_SLICES = tuple(f"memorySlice{number}" for number in range(16))


def attribute_names(kind: str | None) -> frozenset[str]:
    """Attributes of devices of a type, of any type for None, in the driver's domain."""
    kinds = _UNKNOWN if kind is None else (kind,)
    return frozenset(
        name for one in devices() if one.type in kinds for name in (*one.known, *_UNKNOWN[one.type])
    )


@cache
def devices() -> tuple[DraDevice, ...]:
    """Every device that GPUs of the catalogue can give."""
    gpus = (gpu for gpu in load().gpus.values() if gpu.vendor == "nvidia")
    return tuple(device for gpu in gpus for device in _devices_of(gpu))


def _devices_of(gpu: Gpu) -> Iterator[DraDevice]:
    name = gpu.architecture
    common: dict[str, Any] = {"architecture": _ARCHITECTURES.get(name, name.capitalize())}
    if gpu.compute_capability is not None:
        common["cudaComputeCapability"] = {"semver": (*gpu.compute_capability, 0)}
    profiles = gpu.mig_published if gpu.mig is None else gpu.mig.profiles
    others = () if gpu.mig is None else gpu.mig.alternate_names
    unreported = () if gpu.nominal_gb is None else (gpu.name,)
    for product in gpu.product_names or unreported:
        named = {**common, "productName": product}
        yield DraDevice(gpu.key, "gpu", {**named, "type": "gpu"}, gpu.memory_bytes)
        yield DraDevice(gpu.key, "vfio", {"type": "vfio", "productName": product}, None)
        for profile in (*profiles, *others):
            yield DraDevice(gpu.key, "mig", {**named, "type": "mig", "profile": profile}, None)
