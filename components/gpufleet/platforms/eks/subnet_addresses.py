"""Whether subnets have the addresses that pools take at their largest size. Pure arithmetic."""

from collections.abc import Iterator, Mapping, Sequence

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.shape import eks_shape

_finding = findings_in(__file__)

ADDRESSES_PER_NODE = 16
"""Addresses a GPU node takes at least: its own, and those the VPC CNI keeps warm for pods. EFA-only
interfaces take none. Our assumption; large nodes with many pods take more."""

UNCOUNTED = " (nodes that run already could not be counted)"


def short_of_addresses(
    pools: Sequence[Pool], free: Mapping[str, int], running: Mapping[str, int] | None = None
) -> Iterator[Finding]:
    """Pools that do not fit into the subnets they may use, together with those that may use
    nothing else.

    Args:
        pools: Pools that gpufleet makes.
        free: Zone -> free addresses of its subnet.
        running: Pool -> machines that have their addresses already; None where it is not known.
    """
    there_already = running or {}
    confined = {pool.name: _zones(pool, free) for pool in pools}
    for zones in dict.fromkeys(zones for zones in confined.values() if zones):
        inside = [pool for pool in pools if confined[pool.name] and confined[pool.name] <= zones]
        nodes = sum(max(0, pool.nodes.maximum - there_already.get(pool.name, 0)) for pool in inside)
        there, needed = sum(free[zone] for zone in zones), nodes * ADDRESSES_PER_NODE
        if there < needed:
            shown = ", ".join(f"{zone} {free[zone]}" for zone in sorted(zones))
            names = ", ".join(pool.name for pool in inside)
            more = "more " if any(there_already.get(pool.name) for pool in inside) else ""
            unknown = UNCOUNTED if running is None else ""
            yield _finding(
                "subnet-addresses-short",
                f"{inside[0].path}.nodes.max" if len(inside) == 1 else "pools",
                nodes=nodes,
                more=more,
                names=names,
                limit=needed,
                shown=shown,
                unknown=unknown,
                found=there,
            )


def _zones(pool: Pool, free: Mapping[str, int]) -> frozenset[str]:
    """Zones of the pool that there is a subnet in."""
    return frozenset(eks_shape(pool).zones or free) & frozenset(free)
