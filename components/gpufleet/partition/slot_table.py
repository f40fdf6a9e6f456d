"""All sets of GPU instances that one geometry can hold, as bit masks: built once, read often.

A GPU holds at most eight instances, so all of its legal layouts can be listed: about a hundred
multisets of profiles on the seven-slice parts. Layouts get a number; sets of layouts are integers
with one bit each. "What still fits next to this?" is then one look-up and one AND.

Memory slots that no placement ever separates are merged into one cell (the RTX PRO 6000 counts
twelve slots but has four cells), which keeps the masks at eight bits or fewer.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gpufleet.catalogue.gpu import MigGeometry, MigProfile

MEDIA_ENGINES = ("nvdec", "nvenc", "jpeg", "ofa")
"""Engines that are assigned instance by instance. Copy engines are left out: their count in
`nvidia-smi mig -lgip` is not a budget (seven 1g.23gb of a B200 show two each)."""

_CACHE: "dict[tuple[object, ...], SlotTable]" = {}


@lru_cache(maxsize=256)
def slot_table(geometry: MigGeometry) -> "SlotTable":
    """The table of a geometry, built on first use and shared by GPUs of equal geometry."""
    key = (
        geometry.compute_slices,
        geometry.memory_slots,
        *(
            (
                profile.compute_slices,
                profile.memory_slots,
                profile.starts,
                profile.max_instances,
                profile.attributes,
                *(profile.engines.get(engine) for engine in MEDIA_ENGINES),
            )
            for profile in geometry.profiles.values()
        ),
    )
    table = _CACHE.get(key)
    if table is None:
        table = _CACHE[key] = SlotTable(geometry)
    return table


def takes_media_extension(profile: MigProfile) -> bool:
    """Whether the profile owns the media extension (`+me`, `+me.all`), of which a GPU has one."""
    return not profile.attributes.isdisjoint({"+me", "+me.all"})


def engine_budget(geometry: MigGeometry) -> dict[str, int]:
    """Media engines of the whole GPU: those of its largest profile, if sourced."""
    whole = [p for p in geometry.profiles.values() if p.memory_slots == geometry.memory_slots]
    budget: dict[str, int] = {}
    for engine in MEDIA_ENGINES:
        counts = [count for p in whole if (count := p.engines.get(engine)) is not None]
        if counts:
            budget[engine] = max(counts)
    return budget


class SlotTable:
    """All legal layouts of one geometry. Profiles are numbered in the geometry's order.

    A multiset of profiles is one packed integer with a fixed number of bits per profile, so that
    adding two multisets is adding two integers.
    """

    def __init__(self, geometry: MigGeometry) -> None:
        profiles = tuple(geometry.profiles.values())
        self.compute_slices = geometry.compute_slices
        self.memory_slots = geometry.memory_slots
        self.profile_compute = tuple(p.compute_slices for p in profiles)
        self.profile_memory = tuple(p.memory_slots for p in profiles)
        self.profile_starts = tuple(p.starts for p in profiles)
        self.profile_max = tuple(p.max_instances for p in profiles)
        self.attributed = tuple(i for i, p in enumerate(profiles) if p.attributes)
        """Profiles with `+me`, `-me`, ...: not proposed unless requested, if a plain profile is
        equally good."""
        # Twice the largest legal count plus one must fit, for the sum of two multisets.
        self._width = (2 * max(self.profile_max, default=0) + 1).bit_length()
        self.unit = tuple(1 << (self._width * i) for i in range(len(profiles)))

        self._cells = self._merge_slots(geometry)
        self.full = (1 << len(set(self._cells))) - 1
        self.start_masks = tuple(
            tuple(self.mask_of(start, p.memory_slots) for start in p.starts) for p in profiles
        )

        budget = engine_budget(geometry)
        limits: list[tuple[tuple[int, ...], int]] = [(self.profile_compute, self.compute_slices)]
        limits.append((tuple(int(takes_media_extension(p)) for p in profiles), 1))
        limits += [
            (tuple(p.engines.get(engine) or 0 for p in profiles), most)
            for engine, most in budget.items()
        ]
        self._limits = limits

        placements = self._enumerate()
        self.layouts = tuple(sorted(placements))
        """Packed multisets; the position is the number of the layout."""
        self.number = {packed: i for i, packed in enumerate(self.layouts)}
        self.masks = tuple(tuple(sorted(placements[packed])) for packed in self.layouts)
        """The sets of cells each layout can occupy."""
        self.counts = tuple(self.unpack(packed) for packed in self.layouts)
        self.instances = tuple(sum(counts) for counts in self.counts)
        self.compute = tuple(self._weigh(counts, self.profile_compute) for counts in self.counts)
        self.memory = tuple(self._weigh(counts, self.profile_memory) for counts in self.counts)
        self._by_compute = self._bits_by(self.compute)
        self._by_memory = self._bits_by(self.memory)
        self._within = self._fits_within()
        self._larger = tuple(self._one_more(packed) for packed in self.layouts)
        self._maximal: dict[int, tuple[int, ...]] = {}
        self._clipped: dict[tuple[int, int], tuple[int, ...]] = {}
        self._alongside: dict[int, int] = {}
        self._best: dict[tuple[int, int, int], tuple[int, ...] | None] = {}

    # -- building -------------------------------------------------------------------------------

    @staticmethod
    def _merge_slots(geometry: MigGeometry) -> tuple[int, ...]:
        """Cell of each memory slot: slots without a placement border between them share one."""
        borders = {0, geometry.memory_slots}
        for profile in geometry.profiles.values():
            for start in profile.starts:
                borders |= {start, start + profile.memory_slots}
        cells: list[int] = []
        cell = -1
        for slot in range(geometry.memory_slots):
            cell += slot in borders
            cells.append(cell)
        return tuple(cells)

    def _enumerate(self) -> dict[int, set[int]]:
        """Packed multiset -> the sets of cells it can occupy, for every legal multiset."""
        found: dict[int, set[int]] = {0: {0}}
        for profile, starts in enumerate(self.start_masks):
            layer = found
            for _ in range(self.profile_max[profile]):
                grown: dict[int, set[int]] = {}
                for packed, masks in layer.items():
                    bigger = packed + self.unit[profile]
                    if not self._within_limits(bigger):
                        continue
                    reached = {m | s for m in masks for s in starts if not m & s}
                    if reached:
                        grown.setdefault(bigger, set()).update(reached)
                if not grown:
                    break
                if layer is found:
                    found = dict(found)
                for packed, masks in grown.items():
                    found.setdefault(packed, set()).update(masks)
                layer = grown
        return found

    def _within_limits(self, packed: int) -> bool:
        counts = self.unpack(packed)
        return all(self._weigh(counts, weights) <= most for weights, most in self._limits)

    def _fits_within(self) -> list[int]:
        """For each set of free cells: the layouts that fit inside it, as bits."""
        within = [0] * (self.full + 1)
        for i, masks in enumerate(self.masks):
            for mask in masks:
                within[mask] |= 1 << i
        cell = 1
        while cell <= self.full:
            for free in range(self.full + 1):
                if free & cell:
                    within[free] |= within[free ^ cell]
            cell <<= 1
        return within

    def _one_more(self, packed: int) -> int:
        """Layouts with one instance more than this one, as bits."""
        numbers = (self.number.get(packed + unit) for unit in self.unit)
        return sum(1 << number for number in numbers if number is not None)

    def _bits_by(self, amounts: Sequence[int]) -> tuple[tuple[int, int], ...]:
        bits: dict[int, int] = {}
        for i, amount in enumerate(amounts):
            bits[amount] = bits.get(amount, 0) | 1 << i
        return tuple(sorted(bits.items(), reverse=True))

    @staticmethod
    def _weigh(counts: Sequence[int], weights: Sequence[int]) -> int:
        return sum(c * w for c, w in zip(counts, weights, strict=True))

    # -- reading --------------------------------------------------------------------------------

    def mask_of(self, start: int, size: int) -> int:
        """The cells of the memory slots `start` to `start + size - 1`."""
        mask = 0
        for slot in range(start, start + size):
            mask |= 1 << self._cells[slot]
        return mask

    def pack(self, counts: Sequence[int]) -> int:
        """A multiset as one integer. Counts above the legal maximum are not representable."""
        return sum(count * unit for count, unit in zip(counts, self.unit, strict=True))

    def unpack(self, packed: int) -> tuple[int, ...]:
        """The counts per profile of a packed multiset."""
        low = (1 << self._width) - 1
        return tuple((packed >> (self._width * i)) & low for i in range(len(self.unit)))

    def alongside(self, packed: int) -> int:
        """Layouts whose instances may join this multiset under the count and engine limits, as
        bits. Slots are not checked."""
        bits = self._alongside.get(packed)
        if bits is None:
            bits = 0
            for i, other in enumerate(self.layouts):
                if packed + other in self.number:
                    bits |= 1 << i
            self._alongside[packed] = bits
        return bits

    def in_common(self, asked: Sequence[tuple[int, int]]) -> tuple[int, ...]:
        """By layout: how many of the requested instances (profile, count) it holds."""
        columns: list[tuple[int, ...]] = []
        for profile, count in asked:
            key = (profile, min(count, self.profile_max[profile]))
            column = self._clipped.get(key)
            if column is None:
                column = tuple(min(key[1], counts[profile]) for counts in self.counts)
                self._clipped[key] = column
            columns.append(column)
        return tuple(map(sum, zip(*columns, strict=True))) if columns else (0,) * len(self.counts)

    def fitting(self, used: int, packed: int) -> int:
        """Layouts that can be added to a GPU with these cells used by this multiset, as bits."""
        return self._within[self.full & ~used] & self.alongside(packed)

    def most_compute(self, bits: int) -> int:
        """The most compute slices any of these layouts uses."""
        return next(amount for amount, having in self._by_compute if having & bits)

    def most_memory(self, bits: int) -> int:
        """The most memory slots any of these layouts uses."""
        return next(amount for amount, having in self._by_memory if having & bits)

    def numbers(self, bits: int) -> Iterator[int]:
        """The numbers of the layouts in a set of layouts, ascending."""
        while bits:
            lowest = bits & -bits
            yield lowest.bit_length() - 1
            bits ^= lowest

    def maximal(self, bits: int) -> tuple[int, ...]:
        """Layouts of a downward-closed set to which no instance can be added inside the set."""
        found = self._maximal.get(bits)
        if found is None:
            found = tuple(i for i in self.numbers(bits) if not self._larger[i] & bits)
            self._maximal[bits] = found
        return found

    def starts(self, packed: int, used: int = 0, present: int = 0) -> tuple[int, ...] | None:
        """Start slots for a multiset next to `present`, which uses the cells `used`.

        One start per instance, profile by profile in the geometry's order, ascending within a
        profile. None: it does not fit. Among all ways the one is taken that strands least compute,
        then least memory, then leaves most layouts open, then sits lowest.
        """
        key = (packed, used, present)
        if key not in self._best:
            if len(self._best) > 50_000:
                self._best.clear()
            self._best[key] = self._find_starts(packed, used, present)
        return self._best[key]

    def _find_starts(self, packed: int, used: int, present: int) -> tuple[int, ...] | None:
        number = self.number.get(packed)
        total = packed + present
        if number is None or total not in self.number:
            return None
        ranked: list[tuple[int, int, int, int]] = []
        for mask in self.masks[number]:
            if mask & used:
                continue
            open_layouts = self.fitting(mask | used, total)
            ranked.append(
                (
                    -self.most_compute(open_layouts),
                    -self.most_memory(open_layouts),
                    -open_layouts.bit_count(),
                    mask,
                )
            )
        if not ranked:
            return None
        return self._cover(self.counts[number], min(ranked)[3])

    def _cover(self, counts: Sequence[int], mask: int) -> tuple[int, ...]:
        """Starts that use exactly these cells: largest instances first, lowest start first."""
        order = sorted(
            (i for i, count in enumerate(counts) for _ in range(count)),
            key=lambda i: (-self.profile_memory[i], i),
        )
        chosen: list[tuple[int, int]] = []

        def search(position: int, left: int) -> bool:
            if position == len(order):
                return left == 0
            profile = order[position]
            repeated = position > 0 and order[position - 1] == profile
            lowest = chosen[-1][1] + 1 if repeated else 0
            for start, cells in zip(
                self.profile_starts[profile], self.start_masks[profile], strict=True
            ):
                if start >= lowest and cells & left == cells:
                    chosen.append((profile, start))
                    if search(position + 1, left ^ cells):
                        return True
                    chosen.pop()
            return False

        found = search(0, mask)
        assert found, "a listed set of cells must be coverable"
        return tuple(start for _, start in sorted(chosen))
