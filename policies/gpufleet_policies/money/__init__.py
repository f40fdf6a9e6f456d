"""What findings cost. Prices come from the catalogue and from compiled pools, never from here."""

from gpufleet_policies.money.amounts import HOURS_PER_MONTH, Kind, Money
from gpufleet_policies.money.prices import Offer, cheapest_offers, gpu_hour, share_part

__all__ = [
    "HOURS_PER_MONTH",
    "Kind",
    "Money",
    "Offer",
    "cheapest_offers",
    "gpu_hour",
    "share_part",
]
