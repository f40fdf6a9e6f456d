"""Queues: how teams share the fleet. Quotas are never written here: they follow from the pools."""

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
"""A part of an amount: 0 to 1."""


class Team(SpecModel):
    """A team and its share of the fleet."""

    name: DnsLabel
    """Name of the team, and of its queue."""
    share: float = Field(gt=0, le=1)
    """Part of every pool's advertised resources that is this team's nominal quota: more than 0, at
    most 1. The shares of all teams add up to at most 1. A pool with `team` is all that team's."""
    namespaces: tuple[DnsLabel, ...] = ()
    """Namespaces whose jobs run on this quota. Default: one called like the team."""
    cohort: DnsLabel | None = None
    """Group of teams it borrows from and lends to first, one of `cohorts`. Default: the fleet's."""
    borrowing: float | None = Field(default=None, ge=0, le=100)
    """Most it may use beyond its quota, as a multiple of it: 0 never borrows, 1 doubles. 0 to 100.
    Default: all that others leave idle."""
    lending: Part | None = None
    """Part of its quota that others may use while it is idle, 0 to 1. Default: all of it."""
    weight: float | None = Field(default=None, ge=0, le=1000)
    """With `fairSharing`: its part of what is idle, relative to the others; 0 comes last. 0 to
    1000. Default: the share, times 1000."""


class Cohort(SpecModel):
    """A group of teams inside the fleet's cohort."""

    name: DnsLabel
    """Name of the group."""
    parent: DnsLabel | None = None
    """The group it belongs to. Default: the fleet's."""


class QueueingStrategy(StrEnum):
    """Which job of a queue is tried first."""

    BEST_EFFORT_FIFO = "bestEffortFifo"
    """A job that does not fit lets later ones pass."""
    STRICT_FIFO = "strictFifo"
    """The oldest job of the highest priority first; the others wait behind it."""


class WithinQueue(StrEnum):
    """Whom a job may end in its own team."""

    NEVER = "never"
    LOWER_PRIORITY = "lowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "lowerOrNewerEqualPriority"
    """Also jobs of the same priority that came later."""


class Reclaim(StrEnum):
    """Whom the owner of a quota may end to get it back."""

    NEVER = "never"
    """The owner waits until borrowers end."""
    LOWER_PRIORITY = "lowerPriority"
    ANY = "any"
    """Every borrower, whatever its priority."""


class Preemption(SpecModel):
    """Who may end whose jobs."""

    within_queue: WithinQueue = WithinQueue.LOWER_PRIORITY
    """In the same team. Default lowerPriority."""
    reclaim: Reclaim = Reclaim.ANY
    """Jobs on borrowed quota, when the owner comes back. Default any."""
    while_borrowing: bool = False
    """Whether a job may end jobs of lower priority in other teams although it borrows itself.
    Default false; not with fairSharing."""


class FairSharing(SpecModel):
    """Idle quota is divided by weight, and rebalanced by preemption."""

    usage_half_life_hours: float | None = Field(default=None, gt=0, le=8760)
    """Jobs of namespaces that used little lately come first; use counts half after so many hours,
    at most 8760. Default: past use does not count."""


class Priority(SpecModel):
    """A priority that jobs name by the label `kueue.x-k8s.io/priority-class`."""

    name: DnsLabel
    """Name of the class."""
    value: int = Field(ge=-2_147_483_648, le=1_000_000_000)
    """Higher goes first and may end lower ones. At most 1000000000."""
    description: str = Field(default="", max_length=500)
    """For people. Default: none."""


class NetworkTopology(SpecModel):
    """Where jobs of several pods are placed close together."""

    name: DnsLabel
    """Name of the topology."""
    levels: Annotated[tuple[LabelKey, ...], Field(max_length=16)] = ()
    """Node labels from the widest domain to the narrowest, at most 16. `kubernetes.io/hostname` may
    only be the last; without it, Kueue does not look at node taints. NVLink domains of several
    machines: `nvidia.com/gpu.clique`. Default: the labels of EKS or GKE; needed elsewhere."""
    pools: Annotated[tuple[PoolName, ...], Field(min_length=1)]
    """Pools whose nodes carry the labels. At least one."""

    @model_validator(mode="after")
    def _hostname_last(self) -> Self:
        if "kubernetes.io/hostname" in self.levels[:-1]:
            raise ValueError("kubernetes.io/hostname may only be the last of the levels")
        if len(set(self.levels)) != len(self.levels):
            raise ValueError("a level is named twice")
        return self


class PodsReady(SpecModel):
    """How long an admitted job may take until all its pods are ready; then it is put back."""

    timeout_minutes: int = Field(default=60, ge=1, le=1440)
    """1 to 1440. Covers a new node, the image and the loading of a model. Default 60; Kueue's own
    would be 30 since v0.19."""
    retries: int | None = Field(default=None, ge=0, le=1000)
    """Times it is put back before Kueue gives it up, 0 to 1000. Default: without end."""
    one_at_a_time: bool = False
    """Whether the next job is admitted only when all admitted ones are ready. Default false."""


class Queues(SpecModel):
    """Kueue queues and quotas, derived from pools and shares."""

    teams: Annotated[tuple[Team, ...], Field(min_length=1, max_length=200)]
    """1 to 200 teams."""
    cohort: DnsLabel = "gpufleet"
    """Name of the group of all teams. Default gpufleet."""
    cohorts: Annotated[tuple[Cohort, ...], Field(max_length=100)] = ()
    """Groups inside it, at most 100. Default: none, all teams lend to each other alike."""
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    """Default bestEffortFifo."""
    preemption: Preemption = Field(default_factory=Preemption)
    """Who may end whose jobs. Default: owners get their quota back at once; in a team, priority
    decides."""
    fair_sharing: FairSharing | None = None
    """Default: idle quota goes to the one who asks first."""
    priorities: Annotated[tuple[Priority, ...], Field(max_length=50)] = ()
    """At most 50. Default: none, all jobs are alike."""
    topologies: Annotated[tuple[NetworkTopology, ...], Field(max_length=20)] = ()
    """At most 20. Kueue counts only nodes that exist, so these pools must keep their size, or have
    their nodes requested before (`atomicScaleUp`, `queued`). Default: none."""
    atomic_scale_up: tuple[PoolName, ...] = ()
    """Pools of Cluster Autoscaler whose jobs are admitted only when all their nodes can be had at
    once (ProvisioningRequest; Karpenter has none). Default: none. Pools bought as `queued` always
    work so."""
    pods_ready: PodsReady = Field(default_factory=PodsReady)
    """Default: 60 minutes."""
    frameworks: tuple[str, ...] = ()
    """Kinds of jobs next to `batch/job` and `pod` groups that Kueue manages, such as
    `kubeflow.org/pytorchjob`. Their definitions must be in the cluster. Default: none."""
    default_queue: bool = False
    """Whether jobs without a queue name go to their namespace's queue, which is then called
    `default`. Default false: they are not Kueue's, and run on no one's quota."""
    create_namespaces: bool = False
    """Whether the namespaces of the teams are made, and kept when the fleet goes. Default false:
    they exist."""
