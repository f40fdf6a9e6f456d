"""What a GPU is cut into and what the node then advertises: geometry with proof, and arithmetic.

Names are looked up when they are first asked for: geometry alone needs none of the declarations'
models, whose import takes a third of a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpufleet.partition.judgement import judge_layout
    from gpufleet.partition.limits import Reason
    from gpufleet.partition.nearest import Layout
    from gpufleet.partition.partition import GpuLayout, Partition, Share, cut
    from gpufleet.partition.placement import PlacedInstance, Placement, Refusal, place

__all__ = [
    "GpuLayout",
    "Layout",
    "Partition",
    "PlacedInstance",
    "Placement",
    "Reason",
    "Refusal",
    "Share",
    "cut",
    "judge_layout",
    "place",
]

_MODULES = {
    "judgement": ("judge_layout",),
    "limits": ("Reason",),
    "nearest": ("Layout",),
    "partition": ("GpuLayout", "Partition", "Share", "cut"),
    "placement": ("PlacedInstance", "Placement", "Refusal", "place"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
