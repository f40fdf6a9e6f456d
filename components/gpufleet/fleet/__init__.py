"""compile_fleet: what a declaration means, with every finding about it."""

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
