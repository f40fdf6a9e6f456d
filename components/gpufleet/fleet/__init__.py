"""compile_fleet: everything that follows from a declaration, with its findings."""

from gpufleet.fleet.as_dict import fleet_as_dict
from gpufleet.fleet.compile import compile_fleet
from gpufleet.fleet.model import Fleet, Machine, NodeRange, NodeTaint, Pool, SpendBounds, Unbounded

__all__ = [
    "Fleet",
    "Machine",
    "NodeRange",
    "NodeTaint",
    "Pool",
    "SpendBounds",
    "Unbounded",
    "compile_fleet",
    "fleet_as_dict",
]
