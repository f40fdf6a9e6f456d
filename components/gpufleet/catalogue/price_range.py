"""Range of prices of a machine, from its row of the catalogue."""

from gpufleet.catalogue.instance import InstanceType

PUBLISHED_WAYS = ("onDemand", "spot", "reserved", "flexStart", "queued")
"""Purchase options with a price from public lists; the others state their own price."""


def price_range(
    row: InstanceType, way: str, cap_micro_usd: int | None = None
) -> tuple[int | None, int | None]:
    """Lowest and highest price of one machine, micro-dollars an hour; None: unknown.

    `way` is one of PUBLISHED_WAYS, `cap_micro_usd` the maximum bid for spot.
    """
    listed = row.on_demand.micro_usd_per_hour
    if way == "spot":
        return _spot(row, cap_micro_usd)
    if way in ("flexStart", "queued"):
        # No public list has the discount: the list price is the upper bound.
        flex = row.price("flexStart").micro_usd_per_hour
        return flex, listed if flex is None or way == "queued" else flex
    return listed, listed


def planned_price(row: InstanceType, way: str, cap_micro_usd: int | None = None) -> int | None:
    """Planned price of one machine, micro-dollars an hour; None: unknown.

    Spot: the price of the region's most expensive zone, because the zone is not chosen, within the
        range. Other options: the highest price of the range.
    """
    low, high = price_range(row, way, cap_micro_usd)
    if way != "spot":
        return high
    dearest = row.spot.high_micro_usd_per_hour or low
    if dearest is None or high is None:
        return dearest if high is None else high
    return min(dearest, high)


def _spot(row: InstanceType, cap: int | None) -> tuple[int | None, int | None]:
    """Spot moves between its lowest published price and the cap, by default the list price."""
    low = row.spot.micro_usd_per_hour
    high = cap if cap is not None else row.on_demand.micro_usd_per_hour
    if high is None:
        high = row.spot.high_micro_usd_per_hour
    if low is not None and high is not None:
        low = min(low, high)
    return low, high
