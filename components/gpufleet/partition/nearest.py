"""The legal layouts nearest to one that cannot exist."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition.slot_table import SlotTable


@dataclass(frozen=True, slots=True)
class Layout:
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
) -> tuple[Layout, ...]:
    """The closest legal layouts beside what is there: fewest changes, then least waste.

    `wanted` is the request as far as the geometry knows its profiles; `substitutes` are the known
    profiles closest to the ones it does not know, and count as a change each. Equal distances are
    settled by profiles with attributes (`+me`, ...) nobody asked for, unused compute, unused
    memory, instances added and dropped in all, and the names. Never offers an empty GPU.
    """
    names = tuple(geometry.profiles)
    meant = {n: wanted.get(n, 0) + substitutes.get(n, 0) for n in names}
    asked = [(i, meant[name]) for i, name in enumerate(names) if meant[name]]
    known = [(i, wanted[name]) for i, name in enumerate(names) if wanted.get(name)]
    unasked = [
        i for i, p in enumerate(geometry.profiles.values()) if p.attributes and not meant[p.name]
    ]
    size = sum(count for _, count in asked)
    compute, memory = table.compute_slices, table.memory_slots
    there = table.number[present]
    compute -= table.compute[there]
    memory -= table.memory[there]
    ranked: list[tuple[int, int, int, int, int, int]] = []
    for number in table.numbers(table.fitting(used, present)):
        counts = table.counts[number]
        common = 0
        for i, count in asked:
            common += min(count, counts[i])
        total = sum(counts)
        if total == 0:
            continue
        ranked.append(
            (
                max(size, total) - common,
                sum(counts[i] for i in unasked),
                compute - table.compute[number],
                memory - table.memory[number],
                size + total - 2 * common,
                -number,
            )
        )
    ranked.sort()
    offered: list[Layout] = []
    for _, _, unused_compute, unused_memory, _, number in ranked[:limit]:
        counts = table.counts[-number]
        kept = sum(min(count, counts[i]) for i, count in known)
        layout = frozen({n: c for n, c in zip(names, counts, strict=True) if c})
        changes = max(size, sum(counts)) - kept
        offered.append(Layout(layout, changes, unused_compute, unused_memory))
    return tuple(offered)


def better_layout(
    geometry: MigGeometry, table: SlotTable, devices: Mapping[str, int]
) -> Layout | None:
    """The nearest layout that uses more compute slices and shrinks nothing.

    Nothing shrinks: every instance asked for keeps its compute and memory or gets more, and
    instances with attributes (`+me`, ...) are kept as they are. Least unused compute first, then
    fewest instances replaced, fewest changes, profiles with attributes nobody asked for, unused
    memory. None: there is no better one.
    """
    names = tuple(geometry.profiles)
    unasked = [
        i
        for i, p in enumerate(geometry.profiles.values())
        if p.attributes and not devices.get(p.name)
    ]
    asked = [(i, devices[name]) for i, name in enumerate(names) if devices.get(name)]
    size = sum(count for _, count in asked)
    in_use = sum(count * table.profile_compute[i] for i, count in asked)
    needs = _sizes(table, asked)
    best: tuple[int, int, int, int, int, int] | None = None
    kept = [(i, count) for i, count in asked if geometry.profiles[names[i]].attributes]
    for number, counts in enumerate(table.counts):
        if table.compute[number] <= in_use or any(counts[i] < count for i, count in kept):
            continue
        common = sum(min(count, counts[i]) for i, count in asked)
        key = (
            table.compute_slices - table.compute[number],
            size - common,
            max(size, sum(counts)) - common,
            sum(counts[i] for i in unasked),
            table.memory_slots - table.memory[number],
            -number,
        )
        if (best is None or key < best) and _serves(
            needs, _sizes(table, [(i, c) for i, c in enumerate(counts) if c])
        ):
            best = key
    if best is None:
        return None
    number = -best[5]
    layout = frozen({n: c for n, c in zip(names, table.counts[number], strict=True) if c})
    return Layout(layout, changes=best[2], unused_compute=best[0], unused_memory=best[4])


def _sizes(table: SlotTable, counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
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
