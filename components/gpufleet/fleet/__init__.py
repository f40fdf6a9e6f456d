"""compile_fleet: everything that follows from a declaration, with its findings."""

from gpufleet.fleet.as_dict import fleet_as_dict
from gpufleet.fleet.model import Fleet, Pool, SpendBounds, Unbounded

__all__ = [
    "Fleet",
    "Pool",
    "SpendBounds",
    "Unbounded",
    "fleet_as_dict",
]
