"""What a GPU is cut into and what the node then advertises: geometry with proof, and arithmetic."""

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
