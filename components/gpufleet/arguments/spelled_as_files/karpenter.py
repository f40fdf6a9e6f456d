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
    """When Karpenter may take nodes away that work."""

    consolidationPolicy: NotRequired[KarpenterDisruptionConsolidationPolicyWord]
    """One of `WhenEmpty`, `Balanced`, `WhenEmptyOrUnderutilized`. Default: by intent. training,
    batch, interactive: WhenEmpty; inference: Balanced."""
    consolidateAfter: NotRequired[str]
    """How long a node must be idle first. Default: training 60m, batch 10m, inference 5m,
    interactive 30m."""
    budgets: NotRequired[Sequence[KarpenterBudgetArgs]]
    """Default: by intent. training: none for drift; batch and inference: 10 %; interactive: 1."""


class KarpenterReservationsDict(TypedDict):
    """Capacity reservations of EC2 that are found by what they have, not by an id: at least one
    of `tags` and `match`."""

    tags: NotRequired[Mapping[str, str]]
    """Those with all of these tags. Default: whatever tags."""
    ownerId: NotRequired[str]
    """Those of this account, which shares them. Default: whoever owns them."""
    match: NotRequired[KarpenterReservationsMatchWord]
    """One of `open`, `targeted`. Those that any machine may use (`open`), or only machines that
    name them. Default: both."""


class KarpenterPoolOptionsDict(TypedDict):
    """What only Karpenter needs to know."""

    expireAfter: NotRequired[str]
    """Longest life of a node. Default: 720h; for training, Never."""
    terminationGracePeriod: NotRequired[str]
    """How long a node that must go may wait for its pods. Default: training 24h, batch 4h,
    inference 1h, interactive 8h."""
    disruption: NotRequired[KarpenterDisruptionDict]
    """When working nodes may go. Default: by intent."""
    requirements: NotRequired[Sequence[KarpenterRequirementArgs]]
    """Further conditions. Default: none."""
    startupTaints: NotRequired[Sequence[StartupTaintArgs]]
    """Taints nodes are born with and something of yours removes. Default: none; Karpenter waits
    for the GPUs by itself."""
    reservations: NotRequired[Sequence[KarpenterReservationsDict]]
    """Capacity reservations that are found by tags, owner or match, at most 30 with those that
    `capacity` names; they are used first. Default: none."""
    static: NotRequired[bool]
    """Keep `nodes.min` nodes whether pods ask for them or not; Karpenter then adds none for pods,
    and up to `nodes.max` while it replaces nodes (Karpenter's gate StaticCapacity). Default
    false. Changing it makes a new NodePool."""
    buffer: NotRequired[bool]
    """Keep `nodes.min` nodes free beside those that pods use, up to `nodes.max` in all, by a
    CapacityBuffer (Karpenter's gate CapacityBuffer, alpha from 1.14). Default false."""
    priceAdjustment: NotRequired[str]
    """Difference of the price at which Karpenter compares the pool's machines, `-15%` or `+0.25`
    USD per hour: a discount that EC2's list does not show. Spend follows the catalogue. Default:
    the list price."""
    nodePool: NotRequired[Mapping[str, Any]]
    """Raw fields of the NodePool's `spec`, as karpenter.sh/v1 spells them, merged last. Lists are
    replaced."""
    nodeClass: NotRequired[Mapping[str, Any]]
    """Raw fields of the `spec` of its EC2NodeClass, or of the NodeClass of EKS Auto Mode, merged
    last. Lists are replaced."""
    placementGroup: NotRequired[str]
    """Name of a placement group that exists, where machines start; none is made then. A node
    group names one in `eks.launchTemplate.placement`. Default: none."""
    weight: NotRequired[int]
    """Preference among pools that fit a pod, 1 to 100, highest first. Default: none."""
