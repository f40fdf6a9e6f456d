"""Waves of a layout change: the wave of each node, and the present target of each node.

If nodes are resources of the deployment (the sandbox), `pulumi up` changes them wave by wave. Nodes
of a cloud's group are not: there an operator sets the labels of each wave.
"""

from collections.abc import Mapping

from gpufleet.fleet.cut_over import is_cut_over
from gpufleet.fleet.model import Pool
from gpufleet.partition.partition import Partition


def wave_of(pool: Pool, ordinal: int) -> int:
    """The wave in which a node changes, from 0; 0 for every node without a change in progress."""
    change = pool.spec.change
    return 0 if change is None or pool.previous is None else ordinal // change.width


def nodes_before(pool: Pool, ordinal: int) -> range:
    """Ordinals of the wave before a node's own, for which it waits. Empty in the first wave."""
    change = pool.spec.change
    if change is None or pool.previous is None:
        return range(0)
    first = wave_of(pool, ordinal) * change.width
    return range(max(0, first - change.width), first)


def reached(pool: Pool, ordinal: int) -> bool:
    """Whether this update moves the node to the new sharing. Between device plugin and DRA driver
    no update does: it would set all labels at once, and both would advertise for a while."""
    change = pool.spec.change
    if is_cut_over(pool):
        return False
    if change is None or pool.previous is None or change.waves is None:
        return True
    return wave_of(pool, ordinal) < change.waves


def labels_of(pool: Pool, ordinal: int) -> Mapping[str, str]:
    """Labels of one node: those of the new sharing once its wave has come."""
    if pool.previous is None or reached(pool, ordinal):
        return pool.labels
    return pool.previous.labels


def group_labels(pool: Pool) -> Mapping[str, str]:
    """Labels of a cloud's group of nodes, which has one set for all of them.

    EKS and GKE write changed labels to every node of a group at once. While a change is under way,
    the group keeps the present labels, also for nodes that join; the nodes of each wave get the new
    ones one by one. Without the section `change` the group has the new labels, as all nodes do.
    """
    return pool.labels if pool.previous is None else pool.previous.labels


def partition_of(pool: Pool, ordinal: int) -> Partition:
    """The present target partition of one node."""
    if pool.previous is None or reached(pool, ordinal):
        return pool.partition
    return pool.previous.partition
