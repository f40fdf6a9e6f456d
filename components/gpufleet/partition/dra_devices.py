"""What the DRA driver publishes of a GPU: devices, and the counters that keep them apart.

Every GPU has one set of counters. The whole GPU takes all of it; a MIG device takes one counter for
each memory slot it covers, beside its multiprocessors, memory and media engines. So whatever the
scheduler allocates together is a layout the GPU can hold, without a word about geometry in the
scheduler. Source: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1 `cmd/gpu-kubelet-plugin/
partitions.go`; copy engines are left out, as their figures are no budget.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import Gpu, MigGeometry, MigProfile
from gpufleet.partition.model import Partition
from gpufleet.partition.slot_table import MEDIA_ENGINES

_ENGINE_COUNTERS = {
    "nvdec": "decoders",
    "nvenc": "encoders",
    "jpeg": "jpeg-engines",
    "ofa": "ofa-engines",
}


@dataclass(frozen=True, slots=True)
class PublishedDevice:
    """One device of a node's ResourceSlices."""

    name: str
    """Unique on the node: `gpu-0`, `gpu-0-mig-1g10gb-19-3`."""
    gpu: int
    """Index of the GPU."""
    profile: str | None
    """MIG profile; None: the whole GPU."""
    start: int
    """First memory slot; 0 for a whole GPU."""
    consumes: Mapping[str, int]
    """Counter -> amount it takes from the set of its GPU. Empty where nothing is cut on demand."""


def counters(geometry: MigGeometry) -> Mapping[str, int]:
    """The counters of one GPU, full: the most any profile has, and 1 for each memory slot."""
    totals = {f"memory-slice-{slot}": 1 for slot in range(geometry.memory_slots)}
    for name in _amount_names(geometry):
        totals[name] = max(_amounts(p)[name] or 0 for p in geometry.profiles.values())
    return frozen(totals)


def published_devices(gpu: Gpu, partition: Partition) -> Iterator[PublishedDevice]:
    """The devices of one node of a `dra` pool, GPU by GPU. Empty for any other pool."""
    made = partition.dra
    if made is None:
        return
    for layout in partition.gpus:
        whole = f"gpu-{layout.index}"
        if made.on_demand and gpu.mig is not None:
            yield PublishedDevice(whole, layout.index, None, 0, counters(gpu.mig))
            for profile in gpu.mig.profiles.values():
                for start in profile.starts:
                    yield _device(
                        layout.index, profile, start, consumption(gpu.mig, profile, start)
                    )
        elif layout.placement is None:
            yield PublishedDevice(whole, layout.index, None, 0, frozen({}))
        else:
            assert gpu.mig is not None
            for instance in layout.placement.instances:
                profile = gpu.mig.profiles[instance.profile]
                yield _device(layout.index, profile, instance.start, frozen({}))


def consumption(geometry: MigGeometry, profile: MigProfile, start: int) -> Mapping[str, int]:
    """What one MIG device takes from the counters of its GPU."""
    taken = {f"memory-slice-{slot}": 1 for slot in range(start, start + profile.memory_slots)}
    for name in _amount_names(geometry):
        taken[name] = _amounts(profile)[name] or 0
    return frozen(taken)


def _device(
    index: int, profile: MigProfile, start: int, consumes: Mapping[str, int]
) -> PublishedDevice:
    plain = profile.name.replace(".", "").replace("+", "-").replace(",", "-")
    name = f"gpu-{index}-mig-{plain}-{profile.profile_id}-{start}"
    return PublishedDevice(name, index, profile.name, start, consumes)


def _amounts(profile: MigProfile) -> dict[str, int | None]:
    amounts = {
        "memory": profile.usable_bytes,
        "multiprocessors": profile.multiprocessors,
    }
    for engine in MEDIA_ENGINES:
        amounts[_ENGINE_COUNTERS[engine]] = profile.engines.get(engine)
    return amounts


def _amount_names(geometry: MigGeometry) -> list[str]:
    """Counters whose figure is known for every profile: a partly known one would refuse layouts."""
    tables = [_amounts(profile) for profile in geometry.profiles.values()]
    return [name for name in tables[0] if all(table[name] is not None for table in tables)]
