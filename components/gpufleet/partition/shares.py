"""Resource name and memory of a GPU, a slice or a share of either."""

from collections.abc import Mapping
from types import MappingProxyType

from gpufleet.catalogue.gpu import Gpu

RESOURCES: Mapping[str, str] = MappingProxyType(
    {
        "nvidia": "nvidia.com/gpu",
        "amd": "amd.com/gpu",
        "aws": "aws.amazon.com/neuron",
        "google": "google.com/tpu",
        "habana": "habana.ai/gaudi",
        "qualcomm": "qualcomm.com/qaic",
    }
)
"""Vendor -> extended resource its device plugin publishes for whole devices."""

GPU_CLASS = "gpu.nvidia.com"
"""DeviceClass of whole GPUs, made by the chart of NVIDIA's DRA driver."""
MIG_CLASS = "mig.nvidia.com"
"""DeviceClass of all MIG devices, made by the driver's chart."""
VFIO_CLASS = "vfio.gpu.nvidia.com"
"""DeviceClass of GPUs that are bound to vfio-pci, made by the driver's chart."""

SHARED_SUFFIX = ".shared"
"""Suffix that `renameByDefault` appends; the device plugin has no other new name."""

MIB = 1 << 20
GIB = 1 << 30


def shared_name(resource: str, replicas: int, rename: bool) -> str:
    """The resource name the device plugin publishes for replicated devices."""
    return resource + SHARED_SUFFIX if rename and replicas > 1 else resource


def slice_memory(gpu: Gpu, profile: str) -> int | None:
    """Usable memory of one MIG instance in bytes; None: not sourced."""
    if gpu.mig is None:
        return None
    found = gpu.mig.profiles.get(gpu.mig.alternate_names.get(profile, profile))
    return found.usable_bytes if found is not None else None


def mps_memory(device_bytes: int, clients: int) -> int:
    """Memory limit of one MPS client in bytes: whole MiB, rounded down.

    Source: NVIDIA/k8s-device-plugin `cmd/mps-control-daemon/mps/daemon.go`.
    """
    return device_bytes // MIB // clients * MIB


def mps_threads_percent(clients: int) -> int:
    """Active threads one MPS client may use, in percent of the GPU, rounded down."""
    return 100 // clients


def gib(amount: int) -> str:
    """Bytes as people read them."""
    return f"{amount / GIB:.2f} GiB"
