"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.karpenter`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.words import (
    KarpenterBudgetReasonsWord,
    KarpenterDisruptionConsolidationPolicyWord,
    KarpenterRequirementOperatorWord,
    StartupTaintEffectWord,
)


class KarpenterBudgetDict(TypedDict):
    """How many nodes may be disrupted at once; it does not hold back expiry."""

    nodes: str
    """A number, `"1"`, or a part, `"10%"`."""
    schedule: NotRequired[str]
    """Cron expression in UTC of when it begins to hold. With `duration`. Default: always."""
    duration: NotRequired[str]
    """How long it holds, in hours and minutes."""
    reasons: NotRequired[Sequence[KarpenterBudgetReasonsWord]]
    """For which reasons. Default: all of them."""


class KarpenterDisruptionDict(TypedDict):
    """When Karpenter may take nodes away that work."""

    consolidationPolicy: NotRequired[KarpenterDisruptionConsolidationPolicyWord]
    """One of `WhenEmpty`, `Balanced`, `WhenEmptyOrUnderutilized`. Default: by intent. training,
    batch, interactive: WhenEmpty; inference: Balanced."""
    consolidateAfter: NotRequired[str]
    """How long a node must be idle first. Default: training 60m, batch 10m, inference 5m,
    interactive 30m."""
    budgets: NotRequired[Sequence[KarpenterBudgetDict]]
    """Default: by intent. training: none for drift; batch and inference: 10 %; interactive: 1."""


class KarpenterRequirementDict(TypedDict):
    """One more condition on the nodes, next to those that follow from the pool."""

    key: str
    """Label, such as `topology.kubernetes.io/zone`."""
    operator: KarpenterRequirementOperatorWord
    """One of `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`. How the values
    are compared."""
    values: NotRequired[Sequence[str]]
    """Values; exactly one whole number with Gt, Lt, Gte and Lte. Default: none."""


class StartupTaintDict(TypedDict):
    """A taint that something else takes off once the node is ready; pods need not tolerate it."""

    key: str
    """Key of the taint, such as `example.com/agent-not-ready`."""
    value: NotRequired[str]
    """Default: empty."""
    effect: NotRequired[StartupTaintEffectWord]
    """One of `NoSchedule`, `PreferNoSchedule`, `NoExecute`. Default NoSchedule."""


class KarpenterPoolOptionsDict(TypedDict):
    """What only Karpenter needs to know."""

    expireAfter: NotRequired[str]
    """Longest life of a node. Default: 720h; for training, Never."""
    terminationGracePeriod: NotRequired[str]
    """How long a node that must go may wait for its pods. Default: training 24h, batch 4h,
    inference 1h, interactive 8h."""
    disruption: NotRequired[KarpenterDisruptionDict]
    """When working nodes may go. Default: by intent."""
    requirements: NotRequired[Sequence[KarpenterRequirementDict]]
    """Further conditions. Default: none."""
    startupTaints: NotRequired[Sequence[StartupTaintDict]]
    """Taints nodes are born with and something of yours removes. Default: none; Karpenter waits
    for the GPUs by itself."""
    reservationTags: NotRequired[Mapping[str, str]]
    """Capacity reservations with these tags are used first, next to those that `capacity` names.
    Default: none."""
    placementGroup: NotRequired[str]
    """Name of a placement group that exists, where machines start; none is made then. A node
    group names one in `eks.launchTemplate.placement`. Default: none."""
    weight: NotRequired[int]
    """Preference among pools that fit a pod, 1 to 100, highest first. Default: none."""
