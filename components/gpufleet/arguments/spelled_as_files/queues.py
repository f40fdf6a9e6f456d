"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.queues`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.queues import CohortArgs, NetworkTopologyArgs, PriorityArgs, TeamArgs
from gpufleet.arguments.words import QueueingStrategyWord, ReclaimWord, WithinQueueWord


class PreemptionDict(TypedDict):
    """Preemption of jobs."""

    withinQueue: NotRequired[WithinQueueWord]
    """One of `never`, `lowerPriority`, `lowerOrNewerEqualPriority`. In the same team. Default
    lowerPriority."""
    reclaim: NotRequired[ReclaimWord]
    """One of `never`, `lowerPriority`, `any`. Jobs on borrowed quota, when the owner needs it.
    Default any."""
    whileBorrowing: NotRequired[bool]
    """Whether a job may preempt jobs of lower priority in other teams while it borrows. Default
    false; not with fairSharing."""


class FairSharingDict(TypedDict):
    """Idle quota is divided by weight, and rebalanced by preemption."""

    usageHalfLifeHours: NotRequired[float]
    """Jobs of namespaces with little recent use come first; use counts half after this number of
    hours, at most 8760. Default: past use does not count."""


class PodsReadyDict(TypedDict):
    """Maximum time until all pods of an admitted job are ready; after it the job is requeued."""

    timeoutMinutes: NotRequired[int]
    """1 to 1440. Includes a new node, the image and the loading of a model. Default 60; Kueue's
    own is 30 since v0.19."""
    retries: NotRequired[int]
    """Number of requeues before Kueue deactivates the job, 0 to 1000. Default: no limit."""
    oneAtATime: NotRequired[bool]
    """Whether the next job is admitted only when all admitted jobs are ready. Default false."""


class QueuesDict(TypedDict):
    """Kueue queues and quotas, derived from pools and shares."""

    teams: Sequence[TeamArgs]
    """1 to 200 teams."""
    cohort: NotRequired[str]
    """Name of the group of all teams. Default gpufleet."""
    cohorts: NotRequired[Sequence[CohortArgs]]
    """Groups inside it, at most 100. Default: none, all teams lend to each other equally."""
    strategy: NotRequired[QueueingStrategyWord]
    """One of `bestEffortFifo`, `strictFifo`. Default bestEffortFifo."""
    preemption: NotRequired[PreemptionDict]
    """Preemption of jobs. Default: owners reclaim their quota at once; within a team, priority
    decides."""
    fairSharing: NotRequired[FairSharingDict]
    """Default: idle quota goes to the first job that requests it."""
    priorities: NotRequired[Sequence[PriorityArgs]]
    """At most 50. Default: none, all jobs are equal."""
    topologies: NotRequired[Sequence[NetworkTopologyArgs]]
    """At most 20. Kueue counts only existing nodes, so these pools must have a fixed size, or
    their nodes must be requested first (`atomicScaleUp`, `queued`). Default: none."""
    atomicScaleUp: NotRequired[Sequence[str]]
    """Pools of Cluster Autoscaler whose jobs are admitted only when all their nodes are available
    at once (ProvisioningRequest; Karpenter has none). Default: none. Pools with `queued` capacity
    always do this."""
    podsReady: NotRequired[PodsReadyDict]
    """Default: 60 minutes."""
    frameworks: NotRequired[Sequence[str]]
    """Kinds of jobs that Kueue manages in addition to `batch/job` and `pod` groups, such as
    `kubeflow.org/pytorchjob`. The cluster must have their definitions. Default: none."""
    defaultQueue: NotRequired[bool]
    """Whether jobs without a queue name go to their namespace's queue, which is then called
    `default`. Default false: Kueue does not manage them, and they use no quota."""
    createNamespaces: NotRequired[bool]
    """Whether to create the namespaces of the teams; they stay when the fleet is removed. Default
    false: they exist."""
