"""The legal layouts nearest to one that cannot exist."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition.slot_table import SlotTable


@dataclass(frozen=True, slots=True)
class NearestLayout:
    """A legal layout of one GPU, offered instead of another."""

    devices: Mapping[str, int]
    changes: int
    """Instances to add, drop or replace; replacing one by another is one change."""
    unused_compute: int
    """Compute slices no instance of the layout (or already there) uses."""
    unused_memory: int
    """Memory slots no instance of the layout (or already there) uses."""

    def __str__(self) -> str:
        return " + ".join(f"{count} x {name}" for name, count in self.devices.items())


def nearest_layouts(
    geometry: MigGeometry,
    table: SlotTable,
    wanted: Mapping[str, int],
    substitutes: Mapping[str, int],
    used: int = 0,
    present: int = 0,
    *,
    limit: int = 3,
) -> tuple[NearestLayout, ...]:
    """The legal layouts closest to the request: fewest changes, then least waste.

    `wanted` is the part of the request with known profiles; `substitutes` are the known profiles
    closest to the unknown ones, and count as a change each. Equal distances are ordered by
    unrequested profiles with attributes (`+me`, ...), unused compute, unused memory, instances
    added and dropped in all, and the names. Never offers an empty GPU.
    """
    names = tuple(geometry.profiles)
    asked = tuple(
        (i, count)
        for i, n in enumerate(names)
        if (count := wanted.get(n, 0) + substitutes.get(n, 0))
    )
    known = tuple((i, wanted[n]) for i, n in enumerate(names) if wanted.get(n))
    return tuple(
        _layout(names, table, number, changes, unused_compute, unused_memory)
        for changes, unused_compute, unused_memory, number in _nearest(
            table, asked, known, used, present, limit
        )
    )


@lru_cache(maxsize=8192)
def _nearest(
    table: SlotTable,
    asked: tuple[tuple[int, int], ...],
    known: tuple[tuple[int, int], ...],
    used: int,
    present: int,
    limit: int,
) -> tuple[tuple[int, int, int, int], ...]:
    """(changes, unused compute, unused memory, number) of the nearest layouts, best first."""
    meant = dict(asked)
    unasked = [i for i in table.attributed if i not in meant]
    size = sum(count for _, count in asked)
    there = table.number[present]
    compute = table.compute_slices - table.compute[there]
    memory = table.memory_slots - table.memory[there]
    common = table.in_common(asked)
    by_changes = sorted(
        (max(size, table.instances[number]) - common[number], number)
        for number in table.numbers(table.fitting(used, present))
        if table.instances[number]
    )
    if not by_changes:
        return ()
    farthest = by_changes[min(limit, len(by_changes)) - 1][0]
    ranked = sorted(
        (
            changes,
            sum(table.counts[number][i] for i in unasked),
            compute - table.compute[number],
            memory - table.memory[number],
            size + table.instances[number] - 2 * common[number],
            -number,
        )
        for changes, number in by_changes
        if changes <= farthest
    )
    kept = table.in_common(known)
    return tuple(
        (
            max(size, table.instances[-ranking[5]]) - kept[-ranking[5]],
            ranking[2],
            ranking[3],
            -ranking[5],
        )
        for ranking in ranked[:limit]
    )


def _layout(
    names: tuple[str, ...],
    table: SlotTable,
    number: int,
    changes: int,
    unused_compute: int,
    unused_memory: int,
) -> NearestLayout:
    devices = frozen({n: c for n, c in zip(names, table.counts[number], strict=True) if c})
    return NearestLayout(devices, changes, unused_compute, unused_memory)


def better_layout(
    geometry: MigGeometry, table: SlotTable, devices: Mapping[str, int]
) -> NearestLayout | None:
    """The nearest layout that uses more compute slices and shrinks nothing.

    Nothing shrinks: every requested instance keeps its compute and memory or gets more, and
    instances with attributes (`+me`, ...) are kept as they are. Least unused compute first, then
    fewest instances replaced, fewest changes, unrequested profiles with attributes, unused memory.
    None: no better layout.
    """
    names = tuple(geometry.profiles)
    best = _better(table, tuple((i, devices[n]) for i, n in enumerate(names) if devices.get(n)))
    if best is None:
        return None
    unused_compute, _, changes, _, unused_memory, number = best
    return _layout(names, table, -number, changes, unused_compute, unused_memory)


@lru_cache(maxsize=4096)
def _better(
    table: SlotTable, asked: tuple[tuple[int, int], ...]
) -> tuple[int, int, int, int, int, int] | None:
    """The ranking of the best layout; its last member is the number, negated."""
    size = sum(count for _, count in asked)
    in_use = sum(count * table.profile_compute[i] for i, count in asked)
    needs = _sizes(table, asked)
    common = table.in_common(asked)
    wanted = dict(asked)
    kept = [(i, wanted[i]) for i in table.attributed if i in wanted]
    unasked = [i for i in table.attributed if i not in wanted]
    ranked = sorted(
        (
            table.compute_slices - table.compute[number],
            size - common[number],
            max(size, table.instances[number]) - common[number],
            sum(counts[i] for i in unasked),
            table.memory_slots - table.memory[number],
            -number,
        )
        for number, counts in enumerate(table.counts)
        if table.compute[number] > in_use and all(counts[i] >= count for i, count in kept)
    )
    for ranking in ranked:
        offered = [(i, count) for i, count in enumerate(table.counts[-ranking[5]]) if count]
        if _serves(needs, _sizes(table, offered)):
            return ranking
    return None


def _sizes(table: SlotTable, counts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """(memory slots, compute slices) of each instance, largest first."""
    return sorted(
        (
            (table.profile_memory[i], table.profile_compute[i])
            for i, count in counts
            for _ in range(count)
        ),
        reverse=True,
    )


def _serves(needs: list[tuple[int, int]], offered: list[tuple[int, int]]) -> bool:
    """Whether every needed instance finds an offered one at least as large, each used once."""
    left = list(offered)
    for memory, compute in needs:
        fitting = [size for size in left if size[0] >= memory and size[1] >= compute]
        if not fitting:
            return False
        left.remove(min(fitting))
    return True
