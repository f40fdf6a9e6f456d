"""How many nodes a pool may have, all its zones together."""

from gpufleet.fleet.model import NodeRange
from gpufleet.platforms.registry import platform_rules
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import GpuPool


def node_range(pool: GpuPool, platform: Platform) -> NodeRange:
    """Bounds of the pool's nodes; `expected` is half way between them where nothing is said."""
    zones = platform_rules(platform).zones_counted(pool)
    low, high, expected = pool.nodes.min, pool.nodes.max, pool.nodes.expected
    usual = expected if expected is not None else (low + high + 1) // 2
    return NodeRange(low * zones, usual * zones, high * zones)
