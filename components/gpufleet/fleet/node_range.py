"""How many nodes a pool may have, all its zones together."""

from gpufleet.fleet.model import NodeRange
from gpufleet.spec.pool import GpuPool


def node_range(pool: GpuPool) -> NodeRange:
    """Bounds of the pool's nodes; `expected` is half way between them where nothing is said.

    On GKE `nodes` may hold for each zone: every zone that is named counts.
    """
    each = pool.gke is not None and pool.gke.limits == "perZone"
    zones = max(1, len(set(pool.zones))) if each else 1
    low, high, expected = pool.nodes.min, pool.nodes.max, pool.nodes.expected
    usual = expected if expected is not None else (low + high + 1) // 2
    return NodeRange(low * zones, usual * zones, high * zones)
