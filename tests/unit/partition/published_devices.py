"""Devices that the DRA driver publishes for a node's GPUs, to prove the counters against layouts.

Source: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1 `cmd/gpu-kubelet-plugin/partitions.go`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpufleet.catalogue.gpu import Gpu, MigGeometry, MigProfile
from gpufleet.partition.dra import counters
from gpufleet.partition.partition import Partition


@dataclass(frozen=True, slots=True)
class PublishedDevice:
    """One device of a node's ResourceSlices."""

    name: str
    """Unique on the node: `gpu-0`, `gpu-0-mig-1g10gb-19-3`."""
    profile: str | None
    """MIG profile; None: the whole GPU."""
    consumes: Mapping[str, int]
    """Counter -> amount it takes from the set of its GPU. Empty without dynamic MIG."""


def published_devices(gpu: Gpu, partition: Partition) -> Iterator[PublishedDevice]:
    """The devices of one node of a `dra` pool, GPU by GPU. Empty for any other pool."""
    dra = partition.dra
    if dra is None:
        return
    for layout in partition.gpus:
        whole = f"gpu-{layout.index}"
        if dra.on_demand and gpu.mig is not None:
            yield PublishedDevice(whole, None, counters(gpu.mig))
            for profile in gpu.mig.profiles.values():
                for start in profile.starts:
                    taken = _consumption(gpu.mig, profile, start)
                    yield PublishedDevice(_name(layout.index, profile, start), profile.name, taken)
        elif layout.placement is None:
            yield PublishedDevice(whole, None, {})
        else:
            assert gpu.mig is not None
            for instance in layout.placement.instances:
                profile = gpu.mig.profiles[instance.profile]
                name = _name(layout.index, profile, instance.start)
                yield PublishedDevice(name, profile.name, {})


def _consumption(geometry: MigGeometry, profile: MigProfile, start: int) -> dict[str, int]:
    slots = range(start, start + profile.memory_slots)
    amounts = {f"memory-slice-{slot}": 1 for slot in slots} | {
        "memory": profile.usable_bytes or 0,
        "multiprocessors": profile.multiprocessors or 0,
        "decoders": profile.engines.get("nvdec") or 0,
        "encoders": profile.engines.get("nvenc") or 0,
        "jpeg-engines": profile.engines.get("jpeg") or 0,
        "ofa-engines": profile.engines.get("ofa") or 0,
    }
    return {name: amount for name, amount in amounts.items() if name in counters(geometry)}


def _name(index: int, profile: MigProfile, start: int) -> str:
    plain = profile.name.replace(".", "").replace("+", "-").replace(",", "-")
    return f"gpu-{index}-mig-{plain}-{profile.profile_id}-{start}"
