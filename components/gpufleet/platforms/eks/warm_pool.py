"""Machines of a node group's warm pool that run, and are paid for, beside its nodes.

Amazon EC2 Auto Scaling user guide, warm pools: a warm pool has at least `minSize` machines, and as
many as the group lacks to `maxGroupPreparedCapacity`, by default to its largest size; instances in
the state Running are billed as others, those that are stopped pay their disks.
"""

from gpufleet.documents.paths import value_at
from gpufleet.fleet.model import NodeRange
from gpufleet.spec.pool import GpuPool


def with_warm_pool(pool: GpuPool, nodes: NodeRange) -> NodeRange:
    """Nodes and running machines of the warm pool together; `nodes` where none runs."""
    raw = {} if pool.eks is None else pool.eks.node_group
    if value_at(raw, "warmPoolConfig.poolState") != "RUNNING":
        return nodes
    if value_at(raw, "warmPoolConfig.enabled") is False:
        return nodes
    least = _count(value_at(raw, "warmPoolConfig.minSize"), 0)
    prepared = _count(value_at(raw, "warmPoolConfig.maxGroupPreparedCapacity"), nodes.maximum)

    def paid(wanted: int) -> int:
        return wanted + max(least, prepared - wanted)

    return NodeRange(paid(nodes.minimum), paid(nodes.expected), paid(nodes.maximum))


def _count(value: object, default: int) -> int:
    """A number of machines; -1 says the default."""
    given = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if given and isinstance(value, int) else default
