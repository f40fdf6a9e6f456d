"""Nodes of an observed cluster, and the pods that hold GPUs on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNode(Subject):
    """One node of a dump."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    gpus: Mapping[str, int] = field(default_factory=dict[str, int])
    """Resource of GPUs, slices or shares -> units that pods can request."""
    instance_type: Fact[str] = NOTHING
    region: Fact[str] = NOTHING
    spot: bool = False
    """Whether its labels mark it as spot capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOnNode(Subject):
    """One pod of a dump that holds GPUs on a node and has not finished."""

    node: str
    gpus: Mapping[str, int] = field(default_factory=dict[str, int])
    """Resource -> units that it requests."""
