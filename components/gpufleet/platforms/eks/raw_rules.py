"""Refused raw arguments of node groups, launch templates and Karpenter's objects: rows of
`raw_arguments.jsonl`."""

from collections.abc import Iterable
from pathlib import Path

from gpufleet.findings import Finding
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.spec.karpenter import KarpenterPoolOptions

_ROWS = Path(__file__).parent


def validate_raw(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Raw arguments of a node group and its launch template."""
    options = shape.options
    yield from validate_raw_arguments(pool, _ROWS, "eks.nodeGroup", options.node_group)
    yield from validate_raw_arguments(pool, _ROWS, "eks.launchTemplate", options.launch_template)


def validate_raw_fields(pool: Pool, options: KarpenterPoolOptions) -> Iterable[Finding]:
    """Raw fields of Karpenter's objects. Their schemas check the other fields."""
    yield from validate_raw_arguments(pool, _ROWS, "karpenter.nodePool", options.node_pool)
    yield from validate_raw_arguments(pool, _ROWS, "karpenter.nodeClass", options.node_class)
