"""Queues: how teams share the fleet. Quotas are not written here: they follow from the pools."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from gpufleet.spec.base import (
    DnsLabel,
    PoolName,
    SpecModel,
)
from gpufleet.spec.pool import LabelKey

Part = Annotated[float, Field(ge=0, le=1)]
"""A share of an amount: 0 to 1."""


class Team(SpecModel):
    """A team and its share of the fleet."""

    name: DnsLabel
    """Name of the team, and of its queue."""
    share: float = Field(gt=0, le=1)
    """Share of every pool's advertised resources that is this team's nominal quota: more than 0, at
    most 1. The shares of all teams add up to at most 1. A pool with `team` has no other owner."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces whose jobs run on this quota. Default: one with the team's name."""
    cohort: DnsLabel | None = None
    """Group of teams it borrows from and lends to first, one of `cohorts`. Default: the fleet's."""
    borrowing: float | None = Field(default=None, ge=0, le=100)
    """Maximum use beyond its quota, as a multiple of it: 0 never borrows, 1 doubles. 0 to 100.
    Default: all idle quota of other teams."""
    lending: Part | None = None
    """Share of its quota that others may use while it is idle, 0 to 1. Default: all of it."""
    weight: float | None = Field(default=None, ge=0, le=1000)
    """With `fairSharing`: its share of idle quota, relative to the others; 0 comes last. 0 to
    1000. Default: the share, times 1000."""


class Cohort(SpecModel):
    """A group of teams inside the fleet's cohort."""

    name: DnsLabel
    """Name of the group."""
    parent: DnsLabel | None = None
    """The group it belongs to. Default: the fleet's."""


class QueueingStrategy(StrEnum):
    """Which job of a queue is admitted first."""

    BEST_EFFORT_FIFO = "bestEffortFifo"
    """A job that does not fit lets later ones pass."""
    STRICT_FIFO = "strictFifo"
    """The oldest job of the highest priority first; the others wait behind it."""


class WithinQueue(StrEnum):
    """Jobs of its own team that a job may preempt."""

    NEVER = "never"
    LOWER_PRIORITY = "lowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "lowerOrNewerEqualPriority"
    """Also later jobs of the same priority."""


class Reclaim(StrEnum):
    """Jobs that the owner of a quota may preempt to reclaim it."""

    NEVER = "never"
    """The owner waits until borrowers end."""
    LOWER_PRIORITY = "lowerPriority"
    ANY = "any"
    """Every borrower, whatever its priority."""


class Preemption(SpecModel):
    """Preemption of jobs."""

    within_queue: WithinQueue = WithinQueue.LOWER_PRIORITY
    """In the same team. Default lowerPriority."""
    reclaim: Reclaim = Reclaim.ANY
    """Jobs on borrowed quota, when the owner needs it. Default any."""
    while_borrowing: bool = False
    """Whether a job may preempt jobs of lower priority in other teams while it borrows.
    Default false; not with fairSharing."""


class FairSharing(SpecModel):
    """Idle quota is divided by weight, and rebalanced by preemption."""

    usage_half_life_hours: float | None = Field(default=None, gt=0, le=8760)
    """Jobs of namespaces with little recent use come first; use counts half after this number of
    hours, at most 8760. Default: past use does not count."""


class Priority(SpecModel):
    """A priority that jobs name by the label `kueue.x-k8s.io/priority-class`."""

    name: DnsLabel
    """Name of the class."""
    value: int = Field(ge=-2_147_483_648, le=1_000_000_000)
    """Jobs with a higher value go first and may preempt others. At most 1000000000."""
    description: str = Field(default="", max_length=500)
    """For people. Default: none."""


class NetworkTopology(SpecModel):
    """Placement of jobs close together, for several pools."""

    name: DnsLabel
    """Name of the topology."""
    levels: Annotated[tuple[LabelKey, ...], Field(max_length=16)] = ()
    """Node labels from the widest domain to the narrowest, at most 16. `kubernetes.io/hostname` may
    only be the last; without it, Kueue ignores node taints. NVLink domains of several machines:
    `nvidia.com/gpu.clique`. Default: the labels of EKS or GKE; required elsewhere."""
    pools: Annotated[tuple[PoolName, ...], Field(min_length=1)]
    """Pools whose nodes have the labels. At least one."""

    @model_validator(mode="after")
    def _hostname_last(self) -> Self:
        if "kubernetes.io/hostname" in self.levels[:-1]:
            raise ValueError("kubernetes.io/hostname may only be the last of the levels")
        if len(set(self.levels)) != len(self.levels):
            raise ValueError("a level is named twice")
        return self


class PodsReady(SpecModel):
    """Maximum time until all pods of an admitted job are ready; after it the job is requeued."""

    timeout_minutes: int = Field(default=60, ge=1, le=1440)
    """1 to 1440. Includes a new node, the image and the loading of a model. Default 60; Kueue's own
    is 30 since v0.19."""
    retries: int | None = Field(default=None, ge=0, le=1000)
    """Number of requeues before Kueue deactivates the job, 0 to 1000. Default: no limit."""
    one_at_a_time: bool = False
    """Whether the next job is admitted only when all admitted jobs are ready. Default false."""


class Queues(SpecModel):
    """Kueue queues and quotas, derived from pools and shares."""

    teams: Annotated[tuple[Team, ...], Field(min_length=1, max_length=200)]
    """1 to 200 teams."""
    cohort: DnsLabel = "gpufleet"
    """Name of the group of all teams. Default gpufleet."""
    cohorts: Annotated[tuple[Cohort, ...], Field(max_length=100)] = ()
    """Groups inside it, at most 100. Default: none, all teams lend to each other equally."""
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    """Default bestEffortFifo."""
    preemption: Preemption = Field(default_factory=Preemption)
    """Preemption of jobs. Default: owners reclaim their quota at once; within a team, priority
    decides."""
    fair_sharing: FairSharing | None = None
    """Default: idle quota goes to the first job that requests it."""
    priorities: Annotated[tuple[Priority, ...], Field(max_length=50)] = ()
    """At most 50. Default: none, all jobs are equal."""
    topologies: Annotated[tuple[NetworkTopology, ...], Field(max_length=20)] = ()
    """At most 20. Kueue counts only existing nodes, so these pools must have a fixed size, or their
    nodes must be requested first (`atomicScaleUp`, `queued`). Default: none."""
    atomic_scale_up: tuple[PoolName, ...] = ()
    """Pools of Cluster Autoscaler whose jobs are admitted only when all their nodes are available
    at once (ProvisioningRequest; Karpenter has none). Default: none. Pools with `queued` capacity
    always do this."""
    pods_ready: PodsReady = Field(default_factory=PodsReady)
    """Default: 60 minutes."""
    frameworks: tuple[str, ...] = ()
    """Kinds of jobs that Kueue manages in addition to `batch/job` and `pod` groups, such as
    `kubeflow.org/pytorchjob`. The cluster must have their definitions. Default: none."""
    default_queue: bool = False
    """Whether jobs without a queue name go to their namespace's queue, which is then called
    `default`. Default false: Kueue does not manage them, and they use no quota."""
    create_namespaces: bool = False
    """Whether to create the namespaces of the teams; they stay when the fleet is removed. Default
    false: they exist."""
