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
    """Maximum number of nodes that may be disrupted at once; it does not delay expiry."""

    nodes: str
    """A number, `"1"`, or a percentage, `"10%"`."""
    schedule: NotRequired[str]
    """Cron expression in UTC for its start. With `duration`. Default: always."""
    duration: NotRequired[str]
    """Its duration, in hours and minutes."""
    reasons: NotRequired[list[KarpenterBudgetReasonsWord]]
    """Reasons to which it applies. Default: all of them."""


class KarpenterDisruptionArgs(TypedDict):
    """When Karpenter may remove working nodes."""

    consolidation_policy: NotRequired[KarpenterDisruptionConsolidationPolicyWord]
    """One of `WhenEmpty`, `Balanced`, `WhenEmptyOrUnderutilized`. Default: by intent. training,
    batch, interactive: WhenEmpty; inference: Balanced."""
    consolidate_after: NotRequired[str]
    """Time for which a node must be idle first. Default: training 60m, batch 10m, inference 5m,
    interactive 30m."""
    budgets: NotRequired[list[KarpenterBudgetArgs]]
    """Default: by intent. training: none for drift; batch and inference: 10 %; interactive: 1."""


class KarpenterRequirementArgs(TypedDict):
    """One more condition on the nodes, in addition to those that the pool implies."""

    key: str
    """Label, such as `topology.kubernetes.io/zone`."""
    operator: KarpenterRequirementOperatorWord
    """One of `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`. How the values
    are compared."""
    values: NotRequired[list[str]]
    """Values; exactly one integer with Gt, Lt, Gte and Lte. Default: none."""


class StartupTaintArgs(TypedDict):
    """A taint that another program removes once the node is ready; pods need not tolerate it."""

    key: str
    """Key of the taint, such as `example.com/agent-not-ready`."""
    value: NotRequired[str]
    """Default: empty."""
    effect: NotRequired[StartupTaintEffectWord]
    """One of `NoSchedule`, `PreferNoSchedule`, `NoExecute`. Default NoSchedule."""


class KarpenterReservationsArgs(TypedDict):
    """Capacity reservations of EC2 that are selected by properties, not by an id: at least one of
    `tags` and `match`."""

    tags: NotRequired[dict[str, str]]
    """Reservations with all of these tags. Default: any tags."""
    owner_id: NotRequired[str]
    """Reservations of this account, which shares them. Default: any owner."""
    match: NotRequired[KarpenterReservationsMatchWord]
    """One of `open`, `targeted`. Reservations for any machine (`open`), or for machines that name
    them. Default: both."""


class KarpenterPoolOptionsArgs(TypedDict):
    """Settings for Karpenter only."""

    expire_after: NotRequired[str]
    """Maximum age of a node. Default: 720h; for training, Never."""
    termination_grace_period: NotRequired[str]
    """Maximum time that a node to be removed waits for its pods. Default: training 24h, batch 4h,
    inference 1h, interactive 8h."""
    disruption: NotRequired[KarpenterDisruptionArgs]
    """When working nodes may be removed. Default: by intent."""
    requirements: NotRequired[list[KarpenterRequirementArgs]]
    """Additional conditions. Default: none."""
    startup_taints: NotRequired[list[StartupTaintArgs]]
    """Taints with which nodes register and that your own program removes. Default: none;
    Karpenter waits for the GPUs without it."""
    reservations: NotRequired[list[KarpenterReservationsArgs]]
    """Capacity reservations that are selected by tags, owner or match, at most 30 with those in
    `capacity`; they are used first. Default: none."""
    static: NotRequired[bool]
    """Keep `nodes.min` nodes, with or without pods for them; Karpenter then adds none for pods,
    and up to `nodes.max` while it replaces nodes (Karpenter's gate StaticCapacity). Default
    false. A change creates a new NodePool."""
    buffer: NotRequired[bool]
    """Keep `nodes.min` nodes free in addition to those that pods use, up to `nodes.max` in total,
    by a CapacityBuffer (Karpenter's gate CapacityBuffer, alpha from 1.14). Default false."""
    price_adjustment: NotRequired[str]
    """Adjustment of the price with which Karpenter compares the pool's machines, `-15%` or
    `+0.25` USD per hour: a discount that EC2's list does not show. The computed spend uses the
    catalogue. Default: the list price."""
    node_pool: NotRequired[dict[str, Any]]
    """Raw fields of the NodePool's `spec` in the spelling of karpenter.sh/v1, merged last. Lists
    are replaced."""
    node_class: NotRequired[dict[str, Any]]
    """Raw fields of the `spec` of its EC2NodeClass, or of the NodeClass of EKS Auto Mode, merged
    last. Lists are replaced."""
    placement_group: NotRequired[str]
    """Name of an existing placement group for the machines; no new one is created. A node group
    names one in `eks.launchTemplate.placement`. Default: none."""
    weight: NotRequired[int]
    """Preference among suitable pools of a pod, 1 to 100, highest first. Default: none."""
