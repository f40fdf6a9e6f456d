"""Queues as facts: Kueue's ClusterQueues with related objects, and KAI's queues."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """Quota of one GPU-like resource in one flavour."""

    flavor: str
    resource: str
    nominal: Fact[int]
    borrowing_limit: Fact[int]
    """Absent: may borrow all quota that its cohort lends."""
    lending_limit: Fact[int]
    """Absent: lends all of it."""
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
    topology: Fact[str] = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAdmissionCheck(Subject):
    """A Kueue AdmissionCheck."""

    controller: Fact[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KueueConfiguration(Subject):
    """Kueue's own configuration."""

    waits_for_ready: Fact[bool]
    """Whether `waitForPodsReady` is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KaiQueue(Subject):
    """A queue of KAI Scheduler; -1 means without a limit."""

    quota: Fact[int]
    limit: Fact[int]
