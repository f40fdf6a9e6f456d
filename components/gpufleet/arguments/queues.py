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
    """Part of every pool's advertised resources that is this team's nominal quota: more than 0,
    at most 1. The shares of all teams add up to at most 1. A pool with `team` is all that
    team's."""
    namespaces: NotRequired[list[str]]
    """Namespaces whose jobs run on this quota. Default: one called like the team."""
    cohort: NotRequired[str]
    """Group of teams it borrows from and lends to first, one of `cohorts`. Default: the
    fleet's."""
    borrowing: NotRequired[float]
    """Most it may use beyond its quota, as a multiple of it: 0 never borrows, 1 doubles. 0 to
    100. Default: all that others leave idle."""
    lending: NotRequired[float]
    """Part of its quota that others may use while it is idle, 0 to 1. Default: all of it."""
    weight: NotRequired[float]
    """With `fairSharing`: its part of what is idle, relative to the others; 0 comes last. 0 to
    1000. Default: the share, times 1000."""


class CohortArgs(TypedDict):
    """A group of teams inside the fleet's cohort."""

    name: str
    """Name of the group."""
    parent: NotRequired[str]
    """The group it belongs to. Default: the fleet's."""


class PreemptionArgs(TypedDict):
    """Who may end whose jobs."""

    within_queue: NotRequired[WithinQueueWord]
    """One of `never`, `lowerPriority`, `lowerOrNewerEqualPriority`. In the same team. Default
    lowerPriority."""
    reclaim: NotRequired[ReclaimWord]
    """One of `never`, `lowerPriority`, `any`. Jobs on borrowed quota, when the owner comes back.
    Default any."""
    while_borrowing: NotRequired[bool]
    """Whether a job may end jobs of lower priority in other teams although it borrows itself.
    Default false; not with fairSharing."""


class FairSharingArgs(TypedDict):
    """Idle quota is divided by weight, and rebalanced by preemption."""

    usage_half_life_hours: NotRequired[float]
    """Jobs of namespaces that used little lately come first; use counts half after so many hours,
    at most 8760. Default: past use does not count."""


class PriorityArgs(TypedDict):
    """A priority that jobs name by the label `kueue.x-k8s.io/priority-class`."""

    name: str
    """Name of the class."""
    value: int
    """Higher goes first and may end lower ones. At most 1000000000."""
    description: NotRequired[str]
    """For people. Default: none."""


class NetworkTopologyArgs(TypedDict):
    """Where jobs of several pods are placed close together."""

    name: str
    """Name of the topology."""
    levels: NotRequired[list[str]]
    """Node labels from the widest domain to the narrowest, at most 16. `kubernetes.io/hostname`
    may only be the last; without it, Kueue does not look at node taints. NVLink domains of
    several machines: `nvidia.com/gpu.clique`. Default: the labels of EKS or GKE; needed
    elsewhere."""
    pools: list[str]
    """Pools whose nodes carry the labels. At least one."""


class PodsReadyArgs(TypedDict):
    """How long an admitted job may take until all its pods are ready; then it is put back."""

    timeout_minutes: NotRequired[int]
    """1 to 1440. Covers a new node, the image and the loading of a model. Default 60; Kueue's own
    would be 30 since v0.19."""
    retries: NotRequired[int]
    """Times it is put back before Kueue gives it up, 0 to 1000. Default: without end."""
    one_at_a_time: NotRequired[bool]
    """Whether the next job is admitted only when all admitted ones are ready. Default false."""


class QueuesArgs(TypedDict):
    """Kueue queues and quotas, derived from pools and shares."""

    teams: list[TeamArgs]
    """1 to 200 teams."""
    cohort: NotRequired[str]
    """Name of the group of all teams. Default gpufleet."""
    cohorts: NotRequired[list[CohortArgs]]
    """Groups inside it, at most 100. Default: none, all teams lend to each other alike."""
    strategy: NotRequired[QueueingStrategyWord]
    """One of `bestEffortFifo`, `strictFifo`. Default bestEffortFifo."""
    preemption: NotRequired[PreemptionArgs]
    """Who may end whose jobs. Default: owners get their quota back at once; in a team, priority
    decides."""
    fair_sharing: NotRequired[FairSharingArgs]
    """Default: idle quota goes to the one who asks first."""
    priorities: NotRequired[list[PriorityArgs]]
    """At most 50. Default: none, all jobs are alike."""
    topologies: NotRequired[list[NetworkTopologyArgs]]
    """At most 20. Kueue counts only nodes that exist, so these pools must keep their size, or
    have their nodes requested before (`atomicScaleUp`, `queued`). Default: none."""
    atomic_scale_up: NotRequired[list[str]]
    """Pools of Cluster Autoscaler whose jobs are admitted only when all their nodes can be had at
    once (ProvisioningRequest; Karpenter has none). Default: none. Pools bought as `queued` always
    work so."""
    pods_ready: NotRequired[PodsReadyArgs]
    """Default: 60 minutes."""
    frameworks: NotRequired[list[str]]
    """Kinds of jobs next to `batch/job` and `pod` groups that Kueue manages, such as
    `kubeflow.org/pytorchjob`. Their definitions must be in the cluster. Default: none."""
    default_queue: NotRequired[bool]
    """Whether jobs without a queue name go to their namespace's queue, which is then called
    `default`. Default false: they are not Kueue's, and run on no one's quota."""
    create_namespaces: NotRequired[bool]
    """Whether the namespaces of the teams are made, and kept when the fleet goes. Default false:
    they exist."""
