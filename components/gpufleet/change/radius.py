"""Blast radius of a pool's change: resources out of service, duration, cost, and the rollback."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from gpufleet.change.plan import ChangeCapacity, NodeChangeKind, PoolChange
from gpufleet.change.steps import DRAIN_SECONDS, REBOOT_SECONDS, gpu_hours
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Pool
from gpufleet.fleet.platform_rules import platform_rules

# Capacity during the waves of a change: an exact walk, not an estimate.


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


START_SECONDS = 600
"""Expected time until a new node offers its GPUs. Our estimate, as that of a reboot."""

OUTSIDE = frozenset({NodeChangeKind.NEW_NODES, NodeChangeKind.NEW_POOL, NodeChangeKind.RESTART})
"""Kinds whose order another program decides."""

BACK = {
    NodeChangeKind.NEW_NODES: "write the old value: the nodes are replaced once more, in the same "
    "order",
    NodeChangeKind.NEW_POOL: "write the old value: the pool is made anew once more",
    NodeChangeKind.RESTART: "write the old value: the machines are powered off once more",
    NodeChangeKind.RECUT: "swap `sharing` and `change.previous`: the waves go back",
    NodeChangeKind.PLUGIN: "write the old value: the plugin restarts once more",
    NodeChangeKind.REMOVED: "declare it again: the nodes are new, local disks are lost",
    NodeChangeKind.ADDED: "remove the pool: its nodes are drained and go",
    NodeChangeKind.LIVE: "write the old value",
}
"""Kind -> how to roll back."""
NO_WAY_BACK = "none: a control plane does not go back to an older minor version"
"""Rollback with another version of Kubernetes."""


def with_blast_radius(
    change: PoolChange, old: Pool, new: Pool, classes: Sequence[LeafClass | None]
) -> PoolChange:
    """A change that replaces or restarts the nodes of a pool, with what the roll-out that someone
    else orders does to it."""
    nodes, replaced = change.nodes, LeafClass.REPLACEMENT in classes
    rollout = platform_rules(new.platform).rollout(new, replaced=replaced)
    at_once = max(1, min(rollout.at_once or nodes, nodes))
    waves = waves_of(nodes, at_once)
    kept = NodeChangeKind.PLUGIN if rollout.before is None else NodeChangeKind.RECUT
    (gpus,) = walk({"GPUs": old.gpus_per_node}, {"GPUs": new.gpus_per_node}, waves, kept) or (
        ChangeCapacity("GPUs", 0, 0, 0),
    )
    resources = walk(old.advertised, new.advertised, waves, kept)
    if rollout.before:
        gpus = _at_least(gpus, rollout.before * new.gpus_per_node)
        resources = tuple(
            _at_least(one, rollout.before * new.advertised.get(one.name, 0)) for one in resources
        )
    away = DRAIN_SECONDS + max(START_SECONDS, REBOOT_SECONDS)
    lost = 0 if rollout.before is None else nodes - min(nodes, rollout.before or 0)
    return replace(
        change,
        waves=waves,
        gpus=gpus,
        resources=resources,
        gpu_hours=gpu_hours(lost, old.gpus_per_node, away),
        gpu_hours_at_most=gpu_hours(nodes, old.gpus_per_node, away),
        seconds=len(waves) * away,
        rollout=rollout,
    )


def usd(pool: Pool, hours: Decimal) -> Decimal | None:
    """Cost of this number of GPU-hours of the pool; None if it has no price."""
    if pool.hourly_usd is None:
        return None
    return (pool.hourly_usd * hours / pool.gpus_per_node).quantize(Decimal("0.01"))


def _at_least(one: ChangeCapacity, least: int) -> ChangeCapacity:
    return ChangeCapacity(one.name, one.before, min(one.before, one.after, least), one.after)
