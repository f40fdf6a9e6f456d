"""Patterns: what one GPU can be filled with, read from the placements of its geometry."""

from functools import lru_cache

from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition.placement import MigPlacement, PlacedInstance, Refusal, place
from gpufleet.partition.slot_table import slot_table

Pattern = tuple[tuple[str, int], ...]
"""Profile -> instances, in the geometry's order, profiles without any left out."""


@lru_cache(maxsize=4096)
def maximal_patterns(
    geometry: MigGeometry, wanted: frozenset[str], occupied: tuple[PlacedInstance, ...] = ()
) -> tuple[Pattern, ...]:
    """Maximal layouts of the requested profiles that fit next to the existing instances.

    A pattern serves every demand that a part of it serves: smaller patterns are not needed. Order
    of the geometry's layouts; empty when nothing fits.
    """
    table = slot_table(geometry)
    names = tuple(geometry.profiles)
    columns = [i for i, name in enumerate(names) if name in wanted]
    used, present = state_of(geometry, occupied)
    fitting = table.fitting(used, present)
    others = [i for i in range(len(names)) if i not in columns]
    found: list[Pattern] = []
    for number in table.numbers(fitting):
        counts = table.counts[number]
        if number == 0 or any(counts[i] for i in others):
            continue
        packed = table.layouts[number]
        larger = (table.number.get(packed + table.unit[i]) for i in columns)
        if any(bigger is not None and fitting >> bigger & 1 for bigger in larger):
            continue
        found.append(tuple((names[i], counts[i]) for i in columns if counts[i]))
    return tuple(found)


@lru_cache(maxsize=65536)
def open_patterns(
    geometry: MigGeometry, occupied: tuple[PlacedInstance, ...], wanted: frozenset[str]
) -> int:
    """Number of layouts that fit next to existing instances, of requested profiles, if any."""
    table, names = slot_table(geometry), tuple(geometry.profiles)
    others = [i for i, name in enumerate(names) if wanted and name not in wanted]
    fitting = table.numbers(table.fitting(*state_of(geometry, occupied)))
    return sum(not any(table.counts[number][i] for i in others) for number in fitting)


@lru_cache(maxsize=65536)
def state_of(geometry: MigGeometry, occupied: tuple[PlacedInstance, ...]) -> tuple[int, int]:
    """Cells in use and packed multiset of instances that are known to be legal."""
    table = slot_table(geometry)
    order = {name: i for i, name in enumerate(geometry.profiles)}
    used = present = 0
    for instance in occupied:
        used |= table.mask_of(instance.start, instance.size)
        present += table.unit[order[instance.profile]]
    return used, present


@lru_cache(maxsize=65536)
def proof(
    geometry: MigGeometry, pattern: Pattern, occupied: tuple[PlacedInstance, ...] = ()
) -> MigPlacement:
    """Start slots of a pattern next to what is there.

    Raises ValueError for a pattern that does not fit, which `maximal_patterns` never gives.
    """
    answer = place(geometry, dict(pattern), occupied)
    if isinstance(answer, Refusal):
        raise ValueError(  # noqa: TRY004  a result, not a type
            f"{dict(pattern)} next to {occupied}: {answer.why}"
        )
    return answer
