"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.karpenter`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.karpenter import (
    KarpenterBudgetArgs,
    KarpenterRequirementArgs,
    StartupTaintArgs,
)
from gpufleet.arguments.words import (
    KarpenterDisruptionConsolidationPolicyWord,
    KarpenterReservationsMatchWord,
)


class KarpenterDisruptionDict(TypedDict):
    """When Karpenter may remove working nodes."""

    consolidationPolicy: NotRequired[KarpenterDisruptionConsolidationPolicyWord]
    """One of `WhenEmpty`, `Balanced`, `WhenEmptyOrUnderutilized`. Default: by intent. training,
    batch, interactive: WhenEmpty; inference: Balanced."""
    consolidateAfter: NotRequired[str]
    """Time for which a node must be idle first. Default: training 60m, batch 10m, inference 5m,
    interactive 30m."""
    budgets: NotRequired[Sequence[KarpenterBudgetArgs]]
    """Default: by intent. training: none for drift; batch and inference: 10 %; interactive: 1."""


class KarpenterReservationsDict(TypedDict):
    """Capacity reservations of EC2 that are selected by properties, not by an id: at least one of
    `tags` and `match`."""

    tags: NotRequired[Mapping[str, str]]
    """Reservations with all of these tags. Default: any tags."""
    ownerId: NotRequired[str]
    """Reservations of this account, which shares them. Default: any owner."""
    match: NotRequired[KarpenterReservationsMatchWord]
    """One of `open`, `targeted`. Reservations for any machine (`open`), or for machines that name
    them. Default: both."""


class KarpenterPoolOptionsDict(TypedDict):
    """Settings for Karpenter only."""

    expireAfter: NotRequired[str]
    """Maximum age of a node. Default: 720h; for training, Never."""
    terminationGracePeriod: NotRequired[str]
    """Maximum time that a node to be removed waits for its pods. Default: training 24h, batch 4h,
    inference 1h, interactive 8h."""
    disruption: NotRequired[KarpenterDisruptionDict]
    """When working nodes may be removed. Default: by intent."""
    requirements: NotRequired[Sequence[KarpenterRequirementArgs]]
    """Additional conditions. Default: none."""
    startupTaints: NotRequired[Sequence[StartupTaintArgs]]
    """Taints with which nodes register and that your own program removes. Default: none;
    Karpenter waits for the GPUs without it."""
    reservations: NotRequired[Sequence[KarpenterReservationsDict]]
    """Capacity reservations that are selected by tags, owner or match, at most 30 with those in
    `capacity`; they are used first. Default: none."""
    static: NotRequired[bool]
    """Keep `nodes.min` nodes, with or without pods for them; Karpenter then adds none for pods,
    and up to `nodes.max` while it replaces nodes (Karpenter's gate StaticCapacity). Default
    false. A change creates a new NodePool."""
    buffer: NotRequired[bool]
    """Keep `nodes.min` nodes free in addition to those that pods use, up to `nodes.max` in total,
    by a CapacityBuffer (Karpenter's gate CapacityBuffer, alpha from 1.14). Default false."""
    priceAdjustment: NotRequired[str]
    """Adjustment of the price with which Karpenter compares the pool's machines, `-15%` or
    `+0.25` USD per hour: a discount that EC2's list does not show. The computed spend uses the
    catalogue. Default: the list price."""
    nodePool: NotRequired[Mapping[str, Any]]
    """Raw fields of the NodePool's `spec` in the spelling of karpenter.sh/v1, merged last. Lists
    are replaced."""
    nodeClass: NotRequired[Mapping[str, Any]]
    """Raw fields of the `spec` of its EC2NodeClass, or of the NodeClass of EKS Auto Mode, merged
    last. Lists are replaced."""
    placementGroup: NotRequired[str]
    """Name of an existing placement group for the machines; no new one is created. A node group
    names one in `eks.launchTemplate.placement`. Default: none."""
    weight: NotRequired[int]
    """Preference among suitable pools of a pod, 1 to 100, highest first. Default: none."""
