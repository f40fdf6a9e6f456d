"""Settings of a pool for Karpenter only."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import SpecModel

KarpenterDuration = Annotated[
    str, StringConstraints(pattern=r"^(([0-9]+(s|m|h))+|Never)$", max_length=30)
]
"""`30s`, `10m`, `1h30m`, or `Never` (karpenter.sh/v1 NodePool)."""

KarpenterTime = Annotated[str, StringConstraints(pattern=r"^([0-9]+(s|m|h))+$", max_length=30)]
"""`30s`, `10m`, `1h30m` (karpenter.sh/v1 NodePool)."""


class KarpenterRequirement(SpecModel):
    """One more condition on the nodes, in addition to those that the pool implies."""

    key: str = Field(min_length=1, max_length=316)
    """Label, such as `topology.kubernetes.io/zone`."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
    """How the values are compared."""
    values: Annotated[tuple[str, ...], Field(max_length=60)] = ()
    """Values; exactly one integer with Gt, Lt, Gte and Lte. Default: none."""


class KarpenterBudget(SpecModel):
    """Maximum number of nodes that may be disrupted at once; it does not delay expiry."""

    nodes: Annotated[str, StringConstraints(pattern=r"^(100|[0-9]{1,2})%$|^[0-9]+$")]
    """A number, `"1"`, or a percentage, `"10%"`."""
    schedule: str | None = Field(default=None, min_length=1, max_length=100)
    """Cron expression in UTC for its start. With `duration`. Default: always."""
    duration: KarpenterTime | None = None
    """Its duration, in hours and minutes."""
    reasons: tuple[Literal["Underutilized", "Empty", "Drifted"], ...] = ()
    """Reasons to which it applies. Default: all of them."""


class KarpenterDisruption(SpecModel):
    """When Karpenter may remove working nodes."""

    consolidation_policy: Literal["WhenEmpty", "Balanced", "WhenEmptyOrUnderutilized"] | None = None
    """Default: by intent. training, batch, interactive: WhenEmpty; inference: Balanced."""
    consolidate_after: KarpenterDuration | None = None
    """Time for which a node must be idle first. Default: training 60m, batch 10m, inference 5m,
    interactive 30m."""
    budgets: Annotated[tuple[KarpenterBudget, ...], Field(max_length=50)] = ()
    """Default: by intent. training: none for drift; batch and inference: 10 %; interactive: 1."""

    @model_validator(mode="before")
    @classmethod
    def _expiry_is_elsewhere(cls, data: Any) -> Any:
        if isinstance(data, dict) and "expireAfter" in data:
            found = cast("dict[str, Any]", data)["expireAfter"]
            raise ValueError(
                f"expireAfter ({found}) is under disruption, where Karpenter's API server "
                "ignores it: write it one level up, as karpenter.expireAfter"
            )
        return cast("Any", data)


class StartupTaint(SpecModel):
    """A taint that another program removes once the node is ready; pods need not tolerate it."""

    key: str = Field(min_length=1, max_length=316)
    """Key of the taint, such as `example.com/agent-not-ready`."""
    value: str = Field(default="", max_length=63)
    """Default: empty."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """Default NoSchedule."""


class KarpenterReservations(SpecModel):
    """Capacity reservations of EC2 that are selected by properties, not by an id: at least one of
    `tags` and `match`."""

    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Reservations with all of these tags. Default: any tags."""
    owner_id: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] | None = None
    """Reservations of this account, which shares them. Default: any owner."""
    match: Literal["open", "targeted"] | None = None
    """Reservations for any machine (`open`), or for machines that name them. Default: both."""


class KarpenterPoolOptions(SpecModel):
    """Settings for Karpenter only."""

    expire_after: KarpenterDuration | None = None
    """Maximum age of a node. Default: 720h; for training, Never."""
    termination_grace_period: KarpenterTime | None = None
    """Maximum time that a node to be removed waits for its pods. Default: training 24h, batch 4h,
    inference 1h, interactive 8h."""
    disruption: KarpenterDisruption = Field(default_factory=KarpenterDisruption)
    """When working nodes may be removed. Default: by intent."""
    requirements: Annotated[tuple[KarpenterRequirement, ...], Field(max_length=40)] = ()
    """Additional conditions. Default: none."""
    startup_taints: Annotated[tuple[StartupTaint, ...], Field(max_length=20)] = ()
    """Taints with which nodes register and that your own program removes. Default: none; Karpenter
    waits for the GPUs without it."""
    reservations: Annotated[tuple[KarpenterReservations, ...], Field(max_length=30)] = ()
    """Capacity reservations that are selected by tags, owner or match, at most 30 with those in
    `capacity`; they are used first. Default: none."""
    static: bool = False
    """Keep `nodes.min` nodes, with or without pods for them; Karpenter then adds none for pods, and
    up to `nodes.max` while it replaces nodes (Karpenter's gate StaticCapacity). Default false. A
    change creates a new NodePool."""
    buffer: bool = False
    """Keep `nodes.min` nodes free in addition to those that pods use, up to `nodes.max` in total,
    by a CapacityBuffer (Karpenter's gate CapacityBuffer, alpha from 1.14). Default false."""
    price_adjustment: (
        Annotated[str, StringConstraints(pattern=r"^[+-][0-9]{1,12}(\.[0-9]{1,6})?%?$")]
        | None
        | None
    ) = None
    """Adjustment of the price with which Karpenter compares the pool's machines, `-15%` or `+0.25`
    USD per hour: a discount that EC2's list does not show. The computed spend uses the catalogue.
    Default: the list price."""
    node_pool: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw fields of the NodePool's `spec` in the spelling of karpenter.sh/v1, merged last. Lists
    are replaced."""
    node_class: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw fields of the `spec` of its EC2NodeClass, or of the NodeClass of EKS Auto Mode, merged
    last. Lists are replaced."""
    placement_group: str | None = Field(default=None, min_length=1, max_length=255)
    """Name of an existing placement group for the machines; no new one is created. A node group
    names one in `eks.launchTemplate.placement`. Default: none."""
    weight: int | None = Field(default=None, ge=1, le=100)
    """Preference among suitable pools of a pod, 1 to 100, highest first. Default: none."""
