"""The placements of a geometry by plain enumeration: no bit masks, no tables, no shortcuts.

Written for comparison with `gpufleet.partition`, and so sharing nothing with it.
"""

from collections import Counter
from collections.abc import Iterator

from gpufleet.catalogue import MigGeometry

Instance = tuple[str, int]
"""Profile and start slot."""


def slots_of(geometry: MigGeometry, instance: Instance) -> set[int]:
    name, start = instance
    return set(range(start, start + geometry.profiles[name].memory_slots))


def limits_hold(geometry: MigGeometry, counts: Counter[str]) -> bool:
    profiles = geometry.profiles
    if any(count > profiles[name].max_instances for name, count in counts.items()):
        return False
    if sum(c * profiles[n].compute_slices for n, c in counts.items()) > geometry.compute_slices:
        return False
    if sum(c for n, c in counts.items() if n.endswith(("+me", "+me.all"))) > 1:
        return False
    for engine in ("nvdec", "nvenc", "jpeg", "ofa"):
        whole = [
            p.engines.get(engine)
            for p in profiles.values()
            if p.memory_slots == geometry.memory_slots
        ]
        known = [count for count in whole if count is not None]
        needed = sum(c * (profiles[n].engines.get(engine) or 0) for n, c in counts.items())
        if known and needed > max(known):
            return False
    return True


def placed_sets(
    geometry: MigGeometry, occupied: tuple[Instance, ...] = ()
) -> Iterator[tuple[Instance, ...]]:
    """Every set of instances that fits on the GPU next to the occupied ones, the empty one
    included. The instances are in the order of the enumeration."""
    every = [(n, s) for n, p in geometry.profiles.items() for s in p.starts]
    there: set[int] = set().union(*(slots_of(geometry, i) for i in occupied))

    def extend(
        chosen: tuple[Instance, ...], position: int, taken: set[int]
    ) -> Iterator[tuple[Instance, ...]]:
        yield chosen
        for later in range(position, len(every)):
            slots = slots_of(geometry, every[later])
            bigger = (*chosen, every[later])
            if not slots & taken and limits_hold(
                geometry, Counter(n for n, _ in (*bigger, *occupied))
            ):
                yield from extend(bigger, later + 1, taken | slots)

    yield from extend((), 0, there)


def multiset(instances: tuple[Instance, ...]) -> frozenset[tuple[str, int]]:
    return frozenset(Counter(name for name, _ in instances).items())
