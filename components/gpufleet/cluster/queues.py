"""Queues as facts: Kueue's ClusterQueues with related objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.fact import Fact
from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """Quota of one GPU-like resource in one flavour."""

    flavor: str
    resource: str
    nominal: Fact[int]
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue(Subject):
    """A Kueue ClusterQueue."""

    cohort: Fact[str]
    quotas: tuple[FlavorQuota, ...]
    """GPU-like resources only."""
    covered: frozenset[str] | None = None
    """Every resource with quota; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortFacts(Subject):
    """A Kueue Cohort with quota of its own."""

    quotas: tuple[FlavorQuota, ...]
    parent: Fact[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue(Subject):
    """A Kueue LocalQueue."""

    cluster_queue: Fact[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFlavor(Subject):
    """A Kueue ResourceFlavor."""

    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class KueueConfiguration(Subject):
    """Kueue's own configuration, which may rename resources or exclude them."""
