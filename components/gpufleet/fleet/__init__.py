"""compile_fleet: what a declaration means, with every finding about it."""

from gpufleet.fleet.as_dict import fleet_as_dict
from gpufleet.fleet.compile import compile_fleet
from gpufleet.fleet.document import Compiled, compile_data, compile_document
from gpufleet.fleet.model import Fleet, Machine, NodeRange, NodeTaint, Pool, SpendBounds, Unbounded

__all__ = [
    "Compiled",
    "Fleet",
    "Machine",
    "NodeRange",
    "NodeTaint",
    "Pool",
    "SpendBounds",
    "Unbounded",
    "compile_data",
    "compile_document",
    "compile_fleet",
    "fleet_as_dict",
]
