"""How much a placement spoils: the score behind the heuristic.

A GPU in some state can still take so many of each typical instance. What it cannot give to one
although it is free is fragmented; its expectation over the typical requests is the fragmentation of
the GPU (Weng et al., USENIX ATC 2023, here over the slot table instead of milli-GPUs). A placement
is scored by how much it raises that.
"""

from collections.abc import Mapping
from functools import lru_cache

from gpufleet.catalogue.frozen import FrozenDict
from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition.slot_table import slot_table

_SCALE = 5040
"""Fragmentation is kept in whole numbers (slots times this), so that equal scores are equal."""


def uniform(geometry: MigGeometry) -> FrozenDict[str, int]:
    """Every plain profile equally often: what to expect where nothing is known."""
    return FrozenDict({name: 1 for name, p in geometry.profiles.items() if not p.attributes})


@lru_cache(maxsize=1 << 18)
def fragmentation(
    geometry: MigGeometry, used: int, present: int, expected: FrozenDict[str, int]
) -> int:
    """Expected free memory slots that a typical request cannot use, scaled by 5,040.

    `expected` maps profiles to how often they are asked for; `used` and `present` are cells and
    packed multiset of the slot table.
    """
    table = slot_table(geometry)
    order = {name: i for i, name in enumerate(geometry.profiles)}
    free = table.memory_slots - table.memory[table.number[present]]
    fitting = table.fitting(used, present)
    total = sum(expected.values())
    lost = 0
    for name, weight in expected.items():
        unit, size = table.unit[order[name]], geometry.profiles[name].memory_slots
        count = 0
        while (number := table.number.get((count + 1) * unit)) is not None and (
            fitting >> number & 1
        ):
            count += 1
        lost += weight * (free - count * size)
    return lost * _SCALE // total if total else 0


@lru_cache(maxsize=1 << 18)
def best_start(
    geometry: MigGeometry, used: int, present: int, profile: str, expected: FrozenDict[str, int]
) -> tuple[int, int, int, int] | None:
    """(growth of fragmentation, start, cells used after, multiset after) of the best legal start.

    Ties go to the higher start: the low slots are those the large instances begin at. None: the
    profile does not fit.
    """
    table = slot_table(geometry)
    number = list(geometry.profiles).index(profile)
    after = present + table.unit[number]
    if after not in table.number:
        return None
    before = fragmentation(geometry, used, present, expected)
    found: list[tuple[int, int, int]] = []
    starts = table.profile_starts[number]
    for start, cells in zip(starts, table.start_masks[number], strict=True):
        if not cells & used:
            growth = fragmentation(geometry, used | cells, after, expected) - before
            found.append((growth, -start, used | cells))
    if not found:
        return None
    growth, negative, cells = min(found)
    return growth, -negative, cells, after


def expected_mix(geometry: MigGeometry, shares: Mapping[str, int]) -> FrozenDict[str, int]:
    """What to expect from counts by profile; every plain profile where nothing is asked for."""
    known = {name: shares[name] for name in geometry.profiles if shares.get(name)}
    return FrozenDict(known) if known else uniform(geometry)
