"""Steps of one node, and their duration.

Sources: NVIDIA mig-parted v0.15.0 `deployments/container` and `pkg/mig` (order of mig-manager,
reset before reboot), klueska in NVIDIA/gpu-operator#262 (cordon, drain, label, wait, uncordon).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from gpufleet.catalogue.gpu import Gpu
from gpufleet.change.plan import (
    Act,
    ChangeCapacity,
    NodeChangeKind,
    PoolChange,
    Step,
    steps_of,
)
from gpufleet.contract.platform import PlatformValue
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.partition.partition import Partition

DRAIN_SECONDS = 300
"""Time given to pods to leave: the GPU Operator's own default for draining (chart v26.7.0
`driver.upgradePolicy.drain.timeoutSeconds`)."""
RECUT_SECONDS = 120
"""Expected time of a change without a reboot. Our estimate; mig-manager may wait up to 5 minutes
for each of five operands to stop."""
REBOOT_SECONDS = 600
"""Expected time of a change with a reboot. Our estimate."""
PLUGIN_SECONDS = 0
"""Out of service while the plugin restarts: the kubelet keeps its devices for five minutes."""


def changes_mode(old: Partition, new: Partition) -> bool:
    """Whether MIG mode of any GPU of a node is switched."""
    return any(a.mig_enabled != b.mig_enabled for a, b in zip(old.gpus, new.gpus, strict=False))


def changes_layout(old: Partition, new: Partition) -> bool:
    """Whether any GPU of a node is partitioned differently."""
    return [dict(g.devices) for g in old.gpus] != [dict(g.devices) for g in new.gpus]


def kind_in_place(old: Partition, new: Partition) -> NodeChangeKind:
    """Kind of change between two partitions of the same machine."""
    if changes_layout(old, new) or changes_mode(old, new) or "mps" in {old.mode, new.mode}:
        same = old.mode == new.mode and old.replicas == new.replicas
        return (
            NodeChangeKind.UNTOUCHED
            if same and not changes_layout(old, new)
            else NodeChangeKind.RECUT
        )
    if dict(old.advertised) == dict(new.advertised):
        return NodeChangeKind.UNTOUCHED if old.strategy == new.strategy else NodeChangeKind.PLUGIN
    grows = all(new.advertised.get(name, 0) >= count for name, count in old.advertised.items())
    return NodeChangeKind.PLUGIN if grows else NodeChangeKind.RECUT


def steps(
    old: Partition,
    new: Partition,
    kind: NodeChangeKind,
    gpu: Gpu,
    platform: PlatformValue,
    *,
    reboots: bool,
) -> tuple[Step, ...]:
    """All operations on one node, in order."""
    labelling, mig = platform.facts.relabelling, gpu.mig
    return steps_of(
        kind.value,
        gpu=gpu.key,
        layout=changes_layout(old, new),
        mode=changes_mode(old, new),
        resets=mig is not None and mig.reset_needed,
        reboots=platform.facts.reset_may_be_forbidden and reboots,
        who=labelling.who,
        label=labelling.text,
        waits=labelling.waits,
    )


def expected_seconds(found: tuple[Step, ...]) -> int:
    """Time that a node is out of service if all goes well."""
    acts = {step.act for step in found}
    if Act.DRAIN not in acts:
        return PLUGIN_SECONDS
    return DRAIN_SECONDS + (REBOOT_SECONDS if Act.REBOOT in acts else RECUT_SECONDS)


def gpu_hours(nodes: int, gpus: int, seconds: int) -> Decimal:
    """GPU-hours that this number of nodes is out of service, to a hundredth."""
    return (Decimal(nodes * gpus * seconds) / 3600).quantize(Decimal("0.01"))


# Blast radius of a pool's change: resources out of service, duration, cost, and the rollback.

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
