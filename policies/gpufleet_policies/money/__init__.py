"""Costs of findings. All prices come from the catalogue and from compiled pools."""

from gpufleet_policies.money.amounts import HOURS_PER_MONTH, AmountKind, Money
from gpufleet_policies.money.prices import GpuOffer, cheapest_offers, gpu_hour

__all__ = [
    "HOURS_PER_MONTH",
    "AmountKind",
    "GpuOffer",
    "Money",
    "cheapest_offers",
    "gpu_hour",
]
