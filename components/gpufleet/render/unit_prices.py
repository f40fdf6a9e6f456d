"""Price of one unit of a resource: what recording rules multiply by."""

from decimal import ROUND_HALF_UP, Decimal

from gpufleet.catalogue import MICRO_USD
from gpufleet.fleet.kube_state_names import sanitised
from gpufleet.fleet.model import Pool
from gpufleet.fleet.unit_weights import unit_weights

_NANO = Decimal("0.000000001")


def unit_prices(pool: Pool) -> dict[str, Decimal]:
    """Resource, as kube-state-metrics spells it -> dollars an hour of one unit, to a billionth.
    Empty for a pool without a price."""
    if pool.hourly_micro_usd is None:
        return {}
    prices: dict[str, Decimal] = {}
    for resource, weight in sorted(unit_weights(pool).items()):
        exact = weight * pool.hourly_micro_usd
        price = Decimal(exact.numerator) / Decimal(exact.denominator) / MICRO_USD
        prices[sanitised(resource)] = price.quantize(_NANO, ROUND_HALF_UP)
    return prices
