"""Inputs of components: what restates `gpufleet.spec.karpenter`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.words import (
    KarpenterBudgetReasonsWord,
    KarpenterDisruptionConsolidationPolicyWord,
    KarpenterRequirementOperatorWord,
    KarpenterReservationsMatchWord,
    StartupTaintEffectWord,
)


class KarpenterBudgetArgs(TypedDict):
    """How many nodes may be disrupted at once; it does not hold back expiry."""

    nodes: str
    """A number, `"1"`, or a part, `"10%"`."""
    schedule: NotRequired[str]
    """Cron expression in UTC of when it begins to hold. With `duration`. Default: always."""
    duration: NotRequired[str]
    """How long it holds, in hours and minutes."""
    reasons: NotRequired[list[KarpenterBudgetReasonsWord]]
    """For which reasons. Default: all of them."""


class KarpenterDisruptionArgs(TypedDict):
    """When Karpenter may take nodes away that work."""

    consolidation_policy: NotRequired[KarpenterDisruptionConsolidationPolicyWord]
    """One of `WhenEmpty`, `Balanced`, `WhenEmptyOrUnderutilized`. Default: by intent. training,
    batch, interactive: WhenEmpty; inference: Balanced."""
    consolidate_after: NotRequired[str]
    """How long a node must be idle first. Default: training 60m, batch 10m, inference 5m,
    interactive 30m."""
    budgets: NotRequired[list[KarpenterBudgetArgs]]
    """Default: by intent. training: none for drift; batch and inference: 10 %; interactive: 1."""


class KarpenterRequirementArgs(TypedDict):
    """One more condition on the nodes, next to those that follow from the pool."""

    key: str
    """Label, such as `topology.kubernetes.io/zone`."""
    operator: KarpenterRequirementOperatorWord
    """One of `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`. How the values
    are compared."""
    values: NotRequired[list[str]]
    """Values; exactly one whole number with Gt, Lt, Gte and Lte. Default: none."""


class StartupTaintArgs(TypedDict):
    """A taint that something else takes off once the node is ready; pods need not tolerate it."""

    key: str
    """Key of the taint, such as `example.com/agent-not-ready`."""
    value: NotRequired[str]
    """Default: empty."""
    effect: NotRequired[StartupTaintEffectWord]
    """One of `NoSchedule`, `PreferNoSchedule`, `NoExecute`. Default NoSchedule."""


class KarpenterReservationsArgs(TypedDict):
    """Capacity reservations of EC2 that are found by what they have, not by an id: at least one
    of `tags` and `match`."""

    tags: NotRequired[dict[str, str]]
    """Those with all of these tags. Default: whatever tags."""
    owner_id: NotRequired[str]
    """Those of this account, which shares them. Default: whoever owns them."""
    match: NotRequired[KarpenterReservationsMatchWord]
    """One of `open`, `targeted`. Those that any machine may use (`open`), or only machines that
    name them. Default: both."""


class KarpenterPoolOptionsArgs(TypedDict):
    """What only Karpenter needs to know."""

    expire_after: NotRequired[str]
    """Longest life of a node. Default: 720h; for training, Never."""
    termination_grace_period: NotRequired[str]
    """How long a node that must go may wait for its pods. Default: training 24h, batch 4h,
    inference 1h, interactive 8h."""
    disruption: NotRequired[KarpenterDisruptionArgs]
    """When working nodes may go. Default: by intent."""
    requirements: NotRequired[list[KarpenterRequirementArgs]]
    """Further conditions. Default: none."""
    startup_taints: NotRequired[list[StartupTaintArgs]]
    """Taints nodes are born with and something of yours removes. Default: none; Karpenter waits
    for the GPUs by itself."""
    reservations: NotRequired[list[KarpenterReservationsArgs]]
    """Capacity reservations that are found by tags, owner or match, at most 30 with those that
    `capacity` names; they are used first. Default: none."""
    static: NotRequired[bool]
    """Keep `nodes.min` nodes whether pods ask for them or not; Karpenter then adds none for pods,
    and up to `nodes.max` while it replaces nodes (Karpenter's gate StaticCapacity). Default
    false. Changing it makes a new NodePool."""
    buffer: NotRequired[bool]
    """Keep `nodes.min` nodes free beside those that pods use, up to `nodes.max` in all, by a
    CapacityBuffer (Karpenter's gate CapacityBuffer, alpha from 1.14). Default false."""
    price_adjustment: NotRequired[str]
    """Difference of the price at which Karpenter compares the pool's machines, `-15%` or `+0.25`
    USD per hour: a discount that EC2's list does not show. Spend follows the catalogue. Default:
    the list price."""
    node_pool: NotRequired[dict[str, Any]]
    """Raw fields of the NodePool's `spec`, as karpenter.sh/v1 spells them, merged last. Lists are
    replaced."""
    node_class: NotRequired[dict[str, Any]]
    """Raw fields of the `spec` of its EC2NodeClass, or of the NodeClass of EKS Auto Mode, merged
    last. Lists are replaced."""
    placement_group: NotRequired[str]
    """Name of a placement group that exists, where machines start; none is made then. A node
    group names one in `eks.launchTemplate.placement`. Default: none."""
    weight: NotRequired[int]
    """Preference among pools that fit a pod, 1 to 100, highest first. Default: none."""
