"""change_plan: the change from one fleet to another. Pure: it compares two Fleets, and their
rendered resources."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gpufleet.change.classified import cluster_differences, pool_differences, raised
from gpufleet.change.cut_over_steps import cut_over_steps
from gpufleet.change.differences import (
    engine_changes,
    files_differ,
    resource_changes,
    resources_of,
)
from gpufleet.change.plan import (
    ChangeCapacity,
    ChangePlan,
    FieldDifference,
    NodeChangeKind,
    PoolChange,
)
from gpufleet.change.rules import (
    NEW_STOPS,
    STOPS,
    unknown,
    validate_addons,
    validate_cluster,
    validate_nodes,
    validate_pool,
    validate_refused,
    validate_versions,
)
from gpufleet.change.steps import (
    DRAIN_SECONDS,
    NO_WAY_BACK,
    expected_seconds,
    gpu_hours,
    kind_in_place,
    steps,
    usd,
    walk,
    waves_of,
    with_blast_radius,
)
from gpufleet.change.transition_rules import (
    validate_images,
    validate_together,
    validate_transitions,
)
from gpufleet.contract.mig_mode import reboots
from gpufleet.findings import Finding, ordered
from gpufleet.findings.row_rules import rules_in
from gpufleet.fleet.cut_over import IN_PLACE, cut_over, is_cut_over
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import LayoutChange, Provisioner

_rules = rules_in(__file__)


def change_plan(
    old: Fleet,
    new: Fleet,
    nodes: Mapping[str, int] | None = None,
    *,
    accept_unknown: str | None = None,
) -> ChangePlan:
    """The change of every pool: order, cost, and conditions to stop.

    `nodes` is the present number of nodes of a pool, by name; by default a simulated pool has its
    minimum number and any other the expected one. `accept_unknown` is the reason why differences
    of unknown effect are accepted; without one they are errors. Raises ValueError for a pool that
    does not exist and for a number below 0.
    """
    counts = _counted(old, nodes or {})
    before = {pool.name: pool for pool in old.pools}
    after = {pool.name: pool for pool in new.pools}
    changes: list[PoolChange] = []
    cluster = cluster_differences(old, new)
    findings: list[Finding] = [
        *validate_cluster(old, new),
        *validate_versions(old, new),
        *validate_addons(cluster),
        *validate_refused("", "the cluster", cluster),
        *validate_transitions(old, new, accept_unknown),
        *unknown(cluster, "", "the cluster", accept_unknown),
    ]
    for name in dict.fromkeys((*before, *after)):
        one, two = before.get(name), after.get(name)
        if one is None or two is None:
            alone = _alone(one or two, one is None, counts.get(name, 0))
            changes.append(replace(alone, engine=engine_changes(old, new, name)))
            continue
        if one.platform != two.platform or _managed(one) != _managed(two):
            changes.append(_taken_over(one, two, (old, new), counts[name]))
            findings += _rules("ownership", two.path, old=one, pool=two)
            continue
        resources = list(resource_changes(old, new, name))
        inputs = [one for _, found in resources for one in found]
        known = bool(resources_of(old, name) and resources_of(new, name))
        alike = known and not inputs and not files_differ(old, new, name)
        kind = _kind(one, two, inputs, known=known, alike=alike)
        found = pool_differences(old, new, name, kind, cluster, inputs)
        change = _change(one, two, counts[name], new, raised(kind, [*found, *inputs]), found)
        engine = tuple(one for one, _ in resources)
        change = replace(change, inputs=tuple(inputs), engine=engine)
        classes = [difference.leaf_class for difference in (*found, *inputs)]
        change = _with_radius(change, one, two, classes)
        if old.spec.cluster.kubernetes_version != new.spec.cluster.kubernetes_version:
            change = replace(change, back=NO_WAY_BACK)
        changes.append(change)
        findings += validate_pool(one, two, change, new)
        findings += validate_nodes(one, two, change)
        findings += validate_refused(two.path, two.name, inputs)
        findings += validate_images(old, new, name)
        findings += unknown([*found, *inputs], two.path, two.name, accept_unknown)
    findings += validate_together(cluster, changes)
    touched = any(c.kind in {NodeChangeKind.RECUT, NodeChangeKind.PLUGIN} for c in changes)
    stops = (*(STOPS if touched else ()), *(NEW_STOPS if any(c.rollout for c in changes) else ()))
    return ChangePlan(tuple(changes), stops, ordered(findings), cluster)


def _counted(old: Fleet, nodes: Mapping[str, int]) -> dict[str, int]:
    known = {pool.name: pool for pool in old.pools}
    for name, count in nodes.items():
        if name not in known:
            raise ValueError(f"the old fleet has no pool {name!r}; it has {', '.join(known)}")
        if count < 0:
            raise ValueError(f"pool {name!r} cannot have {count} nodes")
    return {name: nodes.get(name, _usual(pool)) for name, pool in known.items()}


def _usual(pool: Pool) -> int:
    simulated = pool.platform.facts.simulated
    return pool.nodes.minimum if simulated else pool.nodes.expected


def _alone(pool: Pool | None, added: bool, nodes: int) -> PoolChange:
    assert pool is not None
    gpus = nodes * pool.gpus_per_node
    count = (0, 0, 0) if added else (gpus, 0, 0)
    return PoolChange(
        name=pool.name,
        path=pool.path,
        kind=NodeChangeKind.ADDED if added else NodeChangeKind.REMOVED,
        nodes=nodes,
        gpus=ChangeCapacity("GPUs", *count),
    )


def _with_radius(
    change: PoolChange, old: Pool, new: Pool, classes: Sequence[LeafClass | None]
) -> PoolChange:
    """The change with its cost and rollback, and with the order of the program that makes it."""
    change = replace(change, back=change.kind.facts.get("back", ""))
    if change.kind.facts.get("outside") and change.nodes:
        change = with_blast_radius(change, old, new, classes)
    elif change.waves and change.kind is not NodeChangeKind.PLUGIN:
        change = replace(change, seconds=len(change.waves) * expected_seconds(change.steps))
    return replace(change, usd=usd(old, change.gpu_hours))


def _managed(pool: Pool) -> bool:
    return pool.ownership is Ownership.MANAGED


def _taken_over(old: Pool, new: Pool, fleets: tuple[Fleet, Fleet], nodes: int) -> PoolChange:
    """A pool on another platform, or one that `pulumi up` starts or stops to create: its nodes are
    replaced or removed, unless an existing node group is imported."""
    adopted = not _managed(old) and new.spec.import_id is not None
    moved = old.platform != new.platform
    kind = NodeChangeKind.LIVE if adopted and not moved else NodeChangeKind.NEW_POOL
    if _managed(old) and not moved:
        kind = NodeChangeKind.REMOVED
    field = "platform" if moved else "ownership"
    was, is_now = (one.platform.name if moved else one.ownership for one in (old, new))
    leaf_class = LeafClass.LIVE if adopted else LeafClass.REPLACEMENT
    shown = FieldDifference(field, was.value, is_now.value, leaf_class)
    alone = _alone(old, added=False, nodes=nodes)
    had = alone.gpus.before
    after = 0 if kind is NodeChangeKind.REMOVED else nodes * new.gpus_per_node
    count = (had, had, had) if kind is NodeChangeKind.LIVE else (had, 0, after)
    engine = () if moved else engine_changes(*fleets, new.name)
    return replace(
        alone,
        path=new.path,
        kind=kind,
        differences=(shown,),
        gpus=ChangeCapacity("GPUs", *count),
        engine=engine,
    )


def _change(
    old: Pool,
    new: Pool,
    nodes: int,
    fleet: Fleet,
    kind: NodeChangeKind,
    found: Sequence[FieldDifference],
) -> PoolChange:
    cuts = kind is NodeChangeKind.CUT_OVER
    in_place = kind.facts.get("in_place", False)
    emptied = in_place and kind is not NodeChangeKind.PLUGIN
    width = _width(new, nodes)
    waves = waves_of(nodes, width) if in_place else ()
    env = fleet.addons.gpu_operator.mig_env
    done = (
        cut_over_steps(cut_over(new))
        if cuts
        else steps(old.partition, new.partition, kind, new.gpu, new.platform, reboots=reboots(env))
    )
    explained = _differences(old, new)
    if kind is NodeChangeKind.UNTOUCHED:
        explained = (replace(one, leaf_class=LeafClass.NONE) for one in explained)
    relabelled = {key: v for key, v in new.labels.items() if old.labels.get(key) != v}
    per_node = old.gpus_per_node
    away = width if emptied else 0
    total = nodes * per_node
    lowest = max(0, nodes - away) * per_node if emptied else total
    changed = nodes if emptied else 0
    declared = new.spec.change
    limit = declared.timeout_seconds if declared is not None else _TIMEOUT
    return PoolChange(
        name=new.name,
        path=new.path,
        kind=kind,
        differences=(
            *explained,
            *(
                one
                for one in found
                if kind is NodeChangeKind.NEW_POOL
                or one.leaf_class is not LeafClass.COMPILED
                or not one.field.startswith(_COMPUTED)
            ),
        ),
        nodes=nodes,
        waves=waves,
        steps=done,
        labels=relabelled if in_place and not cuts else {},
        gpus=ChangeCapacity("GPUs", total, lowest, nodes * new.gpus_per_node),
        resources=walk(old.advertised, new.advertised, waves, kind) if in_place else (),
        gpu_hours=gpu_hours(changed, per_node, expected_seconds(done)),
        gpu_hours_at_most=gpu_hours(changed, per_node, DRAIN_SECONDS + limit),
    )


_COMPUTED = ("gpu", "instanceTypes", "sharing", "nodes")
"""Fields that are shown in their compiled form."""
_TIMEOUT = int(LayoutChange.model_fields["timeout_seconds"].default)


def _width(pool: Pool, nodes: int) -> int:
    """Nodes that change together: all of them unless waves are declared."""
    return max(1, min(pool.spec.change.width, nodes) if pool.spec.change is not None else nodes)


def _kind(
    old: Pool, new: Pool, inputs: Sequence[FieldDifference], *, known: bool, alike: bool
) -> NodeChangeKind:
    """The change of the nodes from the compiled pools, and from differences in the inputs of their
    resources. `known`: both have inputs, which show other machine types: an additional type changes
    no nodes if a requirement lists it. `alike`: all inputs, and the files, are equal."""
    if old.ownership is not Ownership.MANAGED and new.ownership is not Ownership.MANAGED:
        return NodeChangeKind.UNTOUCHED
    rules = platform_rules(new.platform)
    if rules.same_node_group(old, new):
        return NodeChangeKind.UNTOUCHED
    other_types = [m.name for m in old.machines] != [m.name for m in new.machines]
    other_make = old.gpu.key != new.gpu.key or old.image != new.image
    other_machine = (other_types and not known) or (other_make and not alike)
    kind = kind_in_place(old.partition, new.partition)
    modes = {old.partition.mode, new.partition.mode}
    if kind is not NodeChangeKind.UNTOUCHED and new.served_by_platform:
        return NodeChangeKind.NEW_POOL
    replaced = (one for one in inputs if one.leaf_class is LeafClass.REPLACEMENT)
    if any(re.split(r"[./]", one.field)[0] in rules.group_kinds for one in replaced):
        return NodeChangeKind.NEW_POOL
    if is_cut_over(new) and not other_machine:
        return NodeChangeKind.CUT_OVER
    foreign = not modes <= IN_PLACE and old.spec.sharing != new.spec.sharing
    remade = new.provisioner is not Provisioner.MANAGED and kind is not NodeChangeKind.UNTOUCHED
    if other_machine or foreign or remade:
        return NodeChangeKind.NEW_NODES
    return kind


def _differences(old: Pool, new: Pool) -> Iterable[FieldDifference]:
    shown: Mapping[str, Callable[[Pool], str]] = {
        "gpu": lambda pool: pool.gpu.key,
        "machines": lambda pool: ", ".join(machine.name for machine in pool.machines),
        "image": lambda pool: pool.image.key if pool.image else "none",
        "nodes": lambda pool: f"{pool.nodes.minimum} to {pool.nodes.maximum}",
        "each node offers": _offers,
        "GPUs are": _cuts,
    }
    for field, text in shown.items():
        one, two = text(old), text(new)
        if one != two:
            yield FieldDifference(field, one, two)


def _offers(pool: Pool) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(pool.advertised.items())) or "nothing"


def _cuts(pool: Pool) -> str:
    """Partitions of a node's GPUs, equal neighbours together."""
    shown: list[tuple[str, int]] = []
    for gpu in pool.partition.gpus:
        text = " + ".join(f"{n} x {profile}" for profile, n in sorted(gpu.devices.items()))
        text = text or "whole"
        if shown and shown[-1][0] == text:
            shown[-1] = (text, shown[-1][1] + 1)
        else:
            shown.append((text, 1))
    return "; ".join(f"{count} GPUs: {text}" for text, count in shown)
