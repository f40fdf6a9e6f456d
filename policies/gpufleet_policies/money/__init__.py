"""Costs of findings. All prices come from the catalogue and from compiled pools."""

from gpufleet_policies.money.prices import GpuOffer, cheapest_offers, gpu_hour, share_part

__all__ = [
    "GpuOffer",
    "cheapest_offers",
    "gpu_hour",
    "share_part",
]
