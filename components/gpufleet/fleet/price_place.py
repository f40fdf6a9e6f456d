"""Where a pool's price was listed, and when that is another part of the cloud than the cluster's.

Prices of the catalogue are those of one region (docs/catalogue.md). Within a partition another
region is dearer or cheaper; GovCloud and China have price lists, and China a currency, of their own
(partitions of botocore's endpoint table, read 2026-11-21).
"""

from collections.abc import Sequence

from gpufleet.findings import Finding, warning
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec

_PARTITIONS = {"us-gov-": "GovCloud", "cn-": "China"}


def price_region(pool: Pool) -> str | None:
    """Region whose list price the pool is counted with; None where there is none, or the price is
    the declaration's own."""
    row, wanted = pool.machines[0].instance, pool.capacity[0]
    if row is None or wanted.on_prem is not None or wanted.capacity_block is not None:
        return None
    price = row.spot if wanted.spot is not None else row.on_demand
    return price.region if price.micro_usd_per_hour is not None else None


def validate_price_place(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """A warning where the prices are of another price list than the cluster's."""
    region = spec.cluster.region
    if region is None:
        return []
    elsewhere = [
        (pool, listed)
        for pool in pools
        if (listed := price_region(pool)) is not None and _partition(listed) != _partition(region)
    ]
    if not elsewhere:
        return []
    where = _partition(region) or "the cluster"
    listed = ", ".join(sorted({place for _, place in elsewhere}))
    return [
        warning(
            "prices-of-other-partition",
            "cluster.region",
            f"spend and budget count list prices of {listed}; {where} has its own price list",
            "give yours with `--prices FILE` (docs/catalogue.md), or compare sizes only",
            found=region,
            pools=[pool.name for pool, _ in elsewhere],
        )
    ]


def _partition(region: str) -> str | None:
    return next((name for start, name in _PARTITIONS.items() if region.startswith(start)), None)
