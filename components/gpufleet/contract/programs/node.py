"""Resources and GFD labels of one node under a MIG strategy and a way of sharing.

Sources: NVIDIA/k8s-device-plugin v0.20.0 `internal/rm/device_map.go`, `internal/lm`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpufleet.catalogue import Gpu
from gpufleet.contract.programs.validation import AdvertisedByConfig
from gpufleet.partition.profile_name import parse
from gpufleet.partition.shares import RESOURCES, shared_name, slice_memory

GPU_RESOURCE = RESOURCES["nvidia"]
_MIB = 1 << 20

Layouts = Sequence[Mapping[str, int] | None]
"""Layout of each GPU; None: MIG off; empty: MIG on without instances."""


@dataclass(frozen=True, slots=True)
class NodeSharing:
    """The way of sharing in force."""

    kind: str = "none"
    """`none`, `time-slicing` or `mps`, the values of the label."""
    rename: bool = False
    replicas: Mapping[str, int] = field(default_factory=dict[str, int])
    """Resource -> replicas."""

    def factor(self, resource: str) -> int:
        """Replicas of a resource; 1 when it is not shared."""
        return self.replicas.get(resource, 1)


def profile_suffix(profile: str) -> str:
    """A profile in the form of resource names and labels: `1g.10gb.me`, without a full prefix."""
    name = parse(profile)
    if name is not None and name.compute_instance_slices == name.compute_slices:
        profile = name.gpu_instance
    return profile.replace("+", ".").replace(",", ".")


def mig_resource(profile: str) -> str:
    """The resource of a profile under the mixed strategy."""
    return f"nvidia.com/mig-{profile_suffix(profile)}"


def devices_of(layouts: Layouts) -> dict[str, int]:
    """MIG devices of the node by profile, without zero counts."""
    found: Counter[str] = Counter()
    for layout in layouts:
        for profile, count in (layout or {}).items():
            if count > 0:
                found[profile] += count
    return dict(sorted(found.items()))


def offered(layouts: Layouts, strategy: str) -> dict[str, int]:
    """Resource -> devices, before sharing; names with no device are left out."""
    devices = devices_of(layouts)
    partitioned = any(layout is not None for layout in layouts)
    if strategy == "none" or (strategy == "single" and not partitioned):
        return {GPU_RESOURCE: len(layouts)}
    if strategy == "single":
        return {GPU_RESOURCE: sum(devices.values())}
    found: dict[str, int] = {}
    whole = sum(layout is None for layout in layouts)
    if whole:
        found[GPU_RESOURCE] = whole
    for profile, count in devices.items():
        found[mig_resource(profile)] = found.get(mig_resource(profile), 0) + count
    return found


def advertise(
    layouts: Layouts,
    strategy: str,
    shared: NodeSharing = NodeSharing(),
    product: str | None = None,
    gpu: Gpu | None = None,
) -> AdvertisedByConfig:
    """Resources and labels of the node. `product`: label of a whole GPU that is not shared."""
    allocatable = {
        shared_name(name, shared.factor(name), shared.rename): count * shared.factor(name)
        for name, count in offered(layouts, strategy).items()
    }
    return AdvertisedByConfig(allocatable, _labels(layouts, strategy, shared, product, gpu))


def _labels(
    layouts: Layouts, strategy: str, shared: NodeSharing, product: str | None, gpu: Gpu | None
) -> dict[str, str]:
    labels = {"nvidia.com/gpu.sharing-strategy": shared.kind}
    labels["nvidia.com/mps.capable"] = _text(shared.kind == "mps")
    partitioned = any(layout is not None for layout in layouts)
    if gpu is not None or partitioned:
        labels["nvidia.com/mig.capable"] = _text(partitioned or (gpu is not None and gpu.has_mig))
    if strategy != "none":
        labels["nvidia.com/mig.strategy"] = strategy
    whole = any(layout is None for layout in layouts)
    in_force = shared if whole else NodeSharing()
    labels |= _device_labels(GPU_RESOURCE, len(layouts), [product], in_force)
    if not whole:
        labels[f"{GPU_RESOURCE}.replicas"] = "0"
    if gpu is not None:
        labels[f"{GPU_RESOURCE}.family"] = gpu.architecture
        labels |= _memory(GPU_RESOURCE, gpu.memory_bytes)
    if strategy == "none" or not partitioned:
        return labels
    for profile, count in devices_of(layouts).items():
        resource = GPU_RESOURCE if strategy == "single" else mig_resource(profile)
        names = [product, "MIG", profile_suffix(profile)]
        labels |= _device_labels(resource, count, names, shared)
        if strategy == "mixed":
            kind = shared.kind if shared.factor(resource) > 1 else "none"
            labels[f"{resource}.sharing-strategy"] = kind
        if gpu is not None:
            labels |= _memory(resource, slice_memory(gpu, profile))
    return labels


def _device_labels(
    resource: str, count: int, names: list[str | None], shared: NodeSharing
) -> dict[str, str]:
    replicas = shared.factor(resource)
    labels = {f"{resource}.count": str(count), f"{resource}.replicas": str(replicas)}
    parts = [name.replace(" ", "-") for name in names if name is not None]
    if names[0] is not None:
        parts += ["SHARED"] if replicas > 1 and not shared.rename else []
        labels[f"{resource}.product"] = "-".join(parts)
    return labels


def _memory(resource: str, amount: int | None) -> dict[str, str]:
    return {} if amount is None else {f"{resource}.memory": str(amount // _MIB)}


def _text(value: bool) -> str:
    return "true" if value else "false"
