"""Inputs of components: what restates `gpufleet.spec.queues`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import QueueingStrategyWord, ReclaimWord, WithinQueueWord


class TeamArgs(TypedDict):
    """A team and its share of the fleet."""

    name: str
    """Name of the team, and of its queue."""
    share: float
    """Share of every pool's advertised resources that is this team's nominal quota: more than 0,
    at most 1. The shares of all teams add up to at most 1. A pool with `team` has no other
    owner."""
    namespaces: NotRequired[list[str]]
    """Namespaces whose jobs run on this quota. Default: one with the team's name."""
    cohort: NotRequired[str]
    """Group of teams it borrows from and lends to first, one of `cohorts`. Default: the
    fleet's."""
    borrowing: NotRequired[float]
    """Maximum use beyond its quota, as a multiple of it: 0 never borrows, 1 doubles. 0 to 100.
    Default: all idle quota of other teams."""
    lending: NotRequired[float]
    """Share of its quota that others may use while it is idle, 0 to 1. Default: all of it."""
    weight: NotRequired[float]
    """With `fairSharing`: its share of idle quota, relative to the others; 0 comes last. 0 to
    1000. Default: the share, times 1000."""


class CohortArgs(TypedDict):
    """A group of teams inside the fleet's cohort."""

    name: str
    """Name of the group."""
    parent: NotRequired[str]
    """The group it belongs to. Default: the fleet's."""


class PreemptionArgs(TypedDict):
    """Preemption of jobs."""

    within_queue: NotRequired[WithinQueueWord]
    """One of `never`, `lowerPriority`, `lowerOrNewerEqualPriority`. In the same team. Default
    lowerPriority."""
    reclaim: NotRequired[ReclaimWord]
    """One of `never`, `lowerPriority`, `any`. Jobs on borrowed quota, when the owner needs it.
    Default any."""
    while_borrowing: NotRequired[bool]
    """Whether a job may preempt jobs of lower priority in other teams while it borrows. Default
    false; not with fairSharing."""


class FairSharingArgs(TypedDict):
    """Idle quota is divided by weight, and rebalanced by preemption."""

    usage_half_life_hours: NotRequired[float]
    """Jobs of namespaces with little recent use come first; use counts half after this number of
    hours, at most 8760. Default: past use does not count."""


class PriorityArgs(TypedDict):
    """A priority that jobs name by the label `kueue.x-k8s.io/priority-class`."""

    name: str
    """Name of the class."""
    value: int
    """Jobs with a higher value go first and may preempt others. At most 1000000000."""
    description: NotRequired[str]
    """For people. Default: none."""


class NetworkTopologyArgs(TypedDict):
    """Placement of jobs close together, for several pools."""

    name: str
    """Name of the topology."""
    levels: NotRequired[list[str]]
    """Node labels from the widest domain to the narrowest, at most 16. `kubernetes.io/hostname`
    may only be the last; without it, Kueue ignores node taints. NVLink domains of several
    machines: `nvidia.com/gpu.clique`. Default: the labels of EKS or GKE; required elsewhere."""
    pools: list[str]
    """Pools whose nodes have the labels. At least one."""


class PodsReadyArgs(TypedDict):
    """Maximum time until all pods of an admitted job are ready; after it the job is requeued."""

    timeout_minutes: NotRequired[int]
    """1 to 1440. Includes a new node, the image and the loading of a model. Default 60; Kueue's
    own is 30 since v0.19."""
    retries: NotRequired[int]
    """Number of requeues before Kueue deactivates the job, 0 to 1000. Default: no limit."""
    one_at_a_time: NotRequired[bool]
    """Whether the next job is admitted only when all admitted jobs are ready. Default false."""


class QueuesArgs(TypedDict):
    """Kueue queues and quotas, derived from pools and shares."""

    teams: list[TeamArgs]
    """1 to 200 teams."""
    cohort: NotRequired[str]
    """Name of the group of all teams. Default gpufleet."""
    cohorts: NotRequired[list[CohortArgs]]
    """Groups inside it, at most 100. Default: none, all teams lend to each other equally."""
    strategy: NotRequired[QueueingStrategyWord]
    """One of `bestEffortFifo`, `strictFifo`. Default bestEffortFifo."""
    preemption: NotRequired[PreemptionArgs]
    """Preemption of jobs. Default: owners reclaim their quota at once; within a team, priority
    decides."""
    fair_sharing: NotRequired[FairSharingArgs]
    """Default: idle quota goes to the first job that requests it."""
    priorities: NotRequired[list[PriorityArgs]]
    """At most 50. Default: none, all jobs are equal."""
    topologies: NotRequired[list[NetworkTopologyArgs]]
    """At most 20. Kueue counts only existing nodes, so these pools must have a fixed size, or
    their nodes must be requested first (`atomicScaleUp`, `queued`). Default: none."""
    atomic_scale_up: NotRequired[list[str]]
    """Pools of Cluster Autoscaler whose jobs are admitted only when all their nodes are available
    at once (ProvisioningRequest; Karpenter has none). Default: none. Pools with `queued` capacity
    always do this."""
    pods_ready: NotRequired[PodsReadyArgs]
    """Default: 60 minutes."""
    frameworks: NotRequired[list[str]]
    """Kinds of jobs that Kueue manages in addition to `batch/job` and `pod` groups, such as
    `kubeflow.org/pytorchjob`. The cluster must have their definitions. Default: none."""
    default_queue: NotRequired[bool]
    """Whether jobs without a queue name go to their namespace's queue, which is then called
    `default`. Default false: Kueue does not manage them, and they use no quota."""
    create_namespaces: NotRequired[bool]
    """Whether to create the namespaces of the teams; they stay when the fleet is removed. Default
    false: they exist."""
