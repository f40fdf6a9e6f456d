"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.queues`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.queues import CohortArgs, NetworkTopologyArgs, PriorityArgs, TeamArgs
from gpufleet.arguments.words import QueueingStrategyWord, ReclaimWord, WithinQueueWord


class PreemptionDict(TypedDict):
    """Who may end whose jobs."""

    withinQueue: NotRequired[WithinQueueWord]
    """One of `never`, `lowerPriority`, `lowerOrNewerEqualPriority`. In the same team. Default
    lowerPriority."""
    reclaim: NotRequired[ReclaimWord]
    """One of `never`, `lowerPriority`, `any`. Jobs on borrowed quota, when the owner comes back.
    Default any."""
    whileBorrowing: NotRequired[bool]
    """Whether a job may end jobs of lower priority in other teams although it borrows itself.
    Default false; not with fairSharing."""


class FairSharingDict(TypedDict):
    """Idle quota is divided by weight, and rebalanced by preemption."""

    usageHalfLifeHours: NotRequired[float]
    """Jobs of namespaces that used little lately come first; use counts half after so many hours,
    at most 8760. Default: past use does not count."""


class PodsReadyDict(TypedDict):
    """How long an admitted job may take until all its pods are ready; then it is put back."""

    timeoutMinutes: NotRequired[int]
    """1 to 1440. Covers a new node, the image and the loading of a model. Default 60; Kueue's own
    would be 30 since v0.19."""
    retries: NotRequired[int]
    """Times it is put back before Kueue gives it up, 0 to 1000. Default: without end."""
    oneAtATime: NotRequired[bool]
    """Whether the next job is admitted only when all admitted ones are ready. Default false."""


class QueuesDict(TypedDict):
    """Kueue queues and quotas, derived from pools and shares."""

    teams: Sequence[TeamArgs]
    """1 to 200 teams."""
    cohort: NotRequired[str]
    """Name of the group of all teams. Default gpufleet."""
    cohorts: NotRequired[Sequence[CohortArgs]]
    """Groups inside it, at most 100. Default: none, all teams lend to each other alike."""
    strategy: NotRequired[QueueingStrategyWord]
    """One of `bestEffortFifo`, `strictFifo`. Default bestEffortFifo."""
    preemption: NotRequired[PreemptionDict]
    """Who may end whose jobs. Default: owners get their quota back at once; in a team, priority
    decides."""
    fairSharing: NotRequired[FairSharingDict]
    """Default: idle quota goes to the one who asks first."""
    priorities: NotRequired[Sequence[PriorityArgs]]
    """At most 50. Default: none, all jobs are alike."""
    topologies: NotRequired[Sequence[NetworkTopologyArgs]]
    """At most 20. Kueue counts only nodes that exist, so these pools must keep their size, or
    have their nodes requested before (`atomicScaleUp`, `queued`). Default: none."""
    atomicScaleUp: NotRequired[Sequence[str]]
    """Pools of Cluster Autoscaler whose jobs are admitted only when all their nodes can be had at
    once (ProvisioningRequest; Karpenter has none). Default: none. Pools bought as `queued` always
    work so."""
    podsReady: NotRequired[PodsReadyDict]
    """Default: 60 minutes."""
    frameworks: NotRequired[Sequence[str]]
    """Kinds of jobs next to `batch/job` and `pod` groups that Kueue manages, such as
    `kubeflow.org/pytorchjob`. Their definitions must be in the cluster. Default: none."""
    defaultQueue: NotRequired[bool]
    """Whether jobs without a queue name go to their namespace's queue, which is then called
    `default`. Default false: they are not Kueue's, and run on no one's quota."""
    createNamespaces: NotRequired[bool]
    """Whether the namespaces of the teams are made, and kept when the fleet goes. Default false:
    they exist."""
