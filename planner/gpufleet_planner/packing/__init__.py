"""Packing shares onto GPUs and nodes at least cost, always with a lower bound next to the cost."""

from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.packing import (
    Assignment,
    PackedNode,
    Packing,
    PackingMethod,
    packing_as_dict,
)
from gpufleet_planner.packing.problem import (
    ExistingGpu,
    ExistingNode,
    Mode,
    Occupant,
    PackingMachine,
    PackingProblem,
    Quota,
    ShareClass,
    SpreadGroup,
)
from gpufleet_planner.packing.read import read_problem
from gpufleet_planner.packing.request import PackRequest, parse_request
from gpufleet_planner.packing.verify import verify

__all__ = [
    "Assignment",
    "ExistingGpu",
    "ExistingNode",
    "Mode",
    "Occupant",
    "PackRequest",
    "PackedNode",
    "Packing",
    "PackingMachine",
    "PackingMethod",
    "PackingProblem",
    "Quota",
    "ShareClass",
    "SpreadGroup",
    "pack",
    "packing_as_dict",
    "parse_request",
    "read_problem",
    "verify",
]
