"""Costs of findings. All prices come from the catalogue and from compiled pools."""

from gpufleet_policies.money.prices import GpuOffer, cheapest_offers, gpu_hour

__all__ = [
    "GpuOffer",
    "cheapest_offers",
    "gpu_hour",
]
