"""Every difference between two fleets with its class. What no class explains is unknown."""

from collections.abc import Sequence
from dataclasses import replace

from gpufleet.change import leaf_classes
from gpufleet.change.differences import cluster_output, pool_output, written
from gpufleet.change.plan import FieldDifference, NodeChangeKind
from gpufleet.fleet.leaf_class import LeafClass, class_of
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.registry import platform_rules
from gpufleet.spec.base import Ownership

_SILENT = frozenset({LeafClass.NONE})
_KINDS = {
    LeafClass.REPLACEMENT: NodeChangeKind.NEW_NODES,
    LeafClass.ROLLING: NodeChangeKind.NEW_NODES,
    LeafClass.RESTART: NodeChangeKind.RESTART,
    LeafClass.UNKNOWN: NodeChangeKind.UNKNOWN,
    LeafClass.LIVE: NodeChangeKind.LIVE,
}
_RANK = (
    NodeChangeKind.UNTOUCHED,
    NodeChangeKind.LIVE,
    NodeChangeKind.PLUGIN,
    NodeChangeKind.UNKNOWN,
    NodeChangeKind.RESTART,
    NodeChangeKind.RECUT,
    NodeChangeKind.NEW_NODES,
    NodeChangeKind.NEW_POOL,
)
"""From the least to the most; an unknown field does not hide that nodes are emptied anyway."""


def cluster_differences(old: Fleet, new: Fleet) -> tuple[FieldDifference, ...]:
    """What differs outside pools."""
    found = [
        replace(one, leaf_class=class_of(one.field, leaf_classes.CLUSTER))
        for one in written(old.spec, new.spec, without=frozenset({"pools"}))
    ]
    of_pools = [leaf for pool in new.pools for leaf in _written(old, pool)]
    names = [{pool.name for pool in fleet.pools} for fleet in (old, new)]
    if names[0] == names[1] and not _explained([*found, *of_pools]):
        found += _unknown(cluster_output(old, new))
    return tuple(found)


def pool_differences(
    old: Fleet,
    new: Fleet,
    name: str,
    kind: NodeChangeKind,
    cluster: Sequence[FieldDifference],
) -> tuple[FieldDifference, ...]:
    """What differs of a pool that both have. `kind` is what its compiled partitions say."""
    one, two = old.pool(name), new.pool(name)
    rules = platform_rules(two.platform)
    tables = (rules.leaf_classes(two), leaf_classes.POOL)
    foreign = _foreign(one, two) or rules.same_node_group(one, two)
    found: list[FieldDifference] = []
    for leaf in written(one.spec, two.spec, without=frozenset({"name"})):
        leaf_class = class_of(leaf.field, *tables)
        if kind is NodeChangeKind.RECUT and leaf.field.startswith("sharing"):
            leaf_class = LeafClass.COMPILED  # its waves say what happens
        if foreign and leaf_class is not LeafClass.NONE:
            leaf_class = LeafClass.LIVE
        found.append(replace(leaf, leaf_class=leaf_class))
    for leaf in cluster:
        leaf_class = class_of(leaf.field, rules.leaf_classes(two))
        if leaf_class is not LeafClass.UNKNOWN and not foreign:
            found.append(replace(leaf, leaf_class=leaf_class))
    if kind is not NodeChangeKind.UNTOUCHED:
        return tuple(found)
    if any(leaf.leaf_class is LeafClass.COMPILED for leaf in found):
        if pool_output(old, new, name) or cluster_output(old, new):
            found = [_not_compiled(leaf) for leaf in found]
    elif not _explained(found):
        found += _unknown(pool_output(old, new, name))
    return tuple(found)


def raised(kind: NodeChangeKind, found: Sequence[FieldDifference]) -> NodeChangeKind:
    """What happens to the nodes, all differences counted."""
    classes = {one.leaf_class for one in found}
    kinds = [one for leaf_class, one in _KINDS.items() if leaf_class in classes]
    return max((kind, *kinds), key=_RANK.index)


def _explained(found: Sequence[FieldDifference]) -> bool:
    return any(one.leaf_class not in _SILENT for one in found)


def _written(old: Fleet, pool: Pool) -> list[FieldDifference]:
    """Fields of a pool that the old fleet has too."""
    before = next((one for one in old.pools if one.name == pool.name), None)
    if before is None:
        return []
    return [
        replace(leaf, leaf_class=class_of(leaf.field, leaf_classes.POOL))
        for leaf in written(before.spec, pool.spec, without=frozenset({"name"}))
    ]


def _not_compiled(leaf: FieldDifference) -> FieldDifference:
    """The compiled machines and partitions are the same, and yet something else is rendered."""
    if leaf.leaf_class is not LeafClass.COMPILED:
        return leaf
    return replace(leaf, leaf_class=LeafClass.UNKNOWN)


def _unknown(found: Sequence[FieldDifference]) -> list[FieldDifference]:
    return [replace(one, leaf_class=LeafClass.UNKNOWN) for one in found]


def _foreign(old: Pool, new: Pool) -> bool:
    """Whether the nodes are not gpufleet's to change, before and after."""
    return old.ownership is Ownership.EXISTING is new.ownership
