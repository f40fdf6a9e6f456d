"""Capacity during the waves of a change: an exact walk, not an estimate."""

from collections.abc import Mapping, Sequence

from gpufleet.change.plan import ChangeCapacity, NodeChangeKind


def waves_of(nodes: int, width: int) -> tuple[tuple[int, ...], ...]:
    """Ordinals of the nodes, `width` at a time."""
    return tuple(tuple(range(first, min(first + width, nodes))) for first in range(0, nodes, width))


def walk(
    old: Mapping[str, int],
    new: Mapping[str, int],
    waves: Sequence[Sequence[int]],
    kind: NodeChangeKind,
) -> tuple[ChangeCapacity, ...]:
    """Every resource before, at its lowest and after.

    A node that is repartitioned offers nothing from its drain on. A node whose plugin restarts
    continues to offer its resources. A resource that exists only before or only after the change
    has a lowest amount of 0.
    """
    nodes = sum(len(wave) for wave in waves)
    found: list[ChangeCapacity] = []
    for name in sorted({*old, *new}):
        before, after = nodes * old.get(name, 0), nodes * new.get(name, 0)
        lowest, done = min(before, after), 0
        for wave in waves:
            away = 0 if kind is NodeChangeKind.PLUGIN else len(wave)
            rest = nodes - done - (away or len(wave))
            stays = len(wave) * old.get(name, 0) if not away else 0
            lowest = min(lowest, done * new.get(name, 0) + rest * old.get(name, 0) + stays)
            done += len(wave)
        found.append(ChangeCapacity(name, before, lowest, after))
    return tuple(found)
