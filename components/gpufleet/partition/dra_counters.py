"""The counters by which the DRA driver keeps the devices of one GPU apart.

Every GPU has one set of counters. The whole GPU takes all of it; a MIG device takes one counter for
each memory slot it covers, and its multiprocessors, memory and media engines. So all devices that
the scheduler allocates together are a layout the GPU can hold, and the scheduler needs no geometry.
Source: kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0 `cmd/gpu-kubelet-plugin/partitions.go`; copy
engines are left out, because their figures are no budget.
"""

from collections.abc import Mapping

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import MigGeometry, MigProfile
from gpufleet.partition.slot_table import MEDIA_ENGINES

_ENGINE_COUNTERS = {
    "nvdec": "decoders",
    "nvenc": "encoders",
    "jpeg": "jpeg-engines",
    "ofa": "ofa-engines",
}


def counters(geometry: MigGeometry) -> Mapping[str, int]:
    """The counters of one GPU, full: the most any profile has, and 1 for each memory slot.

    An amount that is not known for every profile has no counter: it would refuse layouts.
    """
    totals = {f"memory-slice-{slot}": 1 for slot in range(geometry.memory_slots)}
    tables = [_amounts(profile) for profile in geometry.profiles.values()]
    for name in tables[0]:
        amounts = [amount for table in tables if (amount := table[name]) is not None]
        if len(amounts) == len(tables):
            totals[name] = max(amounts)
    return frozen(totals)


def _amounts(profile: MigProfile) -> dict[str, int | None]:
    amounts = {
        "memory": profile.usable_bytes,
        "multiprocessors": profile.multiprocessors,
    }
    for engine in MEDIA_ENGINES:
        amounts[_ENGINE_COUNTERS[engine]] = profile.engines.get(engine)
    return amounts
