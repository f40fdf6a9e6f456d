"""What only Karpenter needs to know of a pool."""

from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import SpecModel

KarpenterDuration = Annotated[
    str, StringConstraints(pattern=r"^(([0-9]+(s|m|h))+|Never)$", max_length=30)
]
"""`30s`, `10m`, `1h30m`, or `Never` (karpenter.sh/v1 NodePool)."""

KarpenterTime = Annotated[str, StringConstraints(pattern=r"^([0-9]+(s|m|h))+$", max_length=30)]
"""`30s`, `10m`, `1h30m` (karpenter.sh/v1 NodePool)."""


class KarpenterRequirement(SpecModel):
    """One more condition on the nodes, next to those that follow from the pool."""

    key: str = Field(min_length=1, max_length=316)
    """Label, such as `topology.kubernetes.io/zone`."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
    """How the values are compared."""
    values: Annotated[tuple[str, ...], Field(max_length=60)] = ()
    """Values; exactly one whole number with Gt, Lt, Gte and Lte. Default: none."""

    @model_validator(mode="after")
    def _values_fit(self) -> Self:
        if self.operator in {"In", "NotIn"} and not self.values:
            raise ValueError(f"operator {self.operator} needs at least one value, found none")
        if self.operator in {"Exists", "DoesNotExist"} and self.values:
            raise ValueError(f"operator {self.operator} takes no values, found {len(self.values)}")
        numeric = self.operator in {"Gt", "Lt", "Gte", "Lte"}
        if numeric and (len(self.values) != 1 or not self.values[0].isdigit()):
            raise ValueError(
                f"operator {self.operator} takes exactly one whole number, found "
                f"{', '.join(self.values) or 'none'}"
            )
        return self


class KarpenterBudget(SpecModel):
    """How many nodes may be disrupted at once; it does not hold back expiry."""

    nodes: Annotated[str, StringConstraints(pattern=r"^(100|[0-9]{1,2})%$|^[0-9]+$")]
    """A number, `"1"`, or a part, `"10%"`."""
    schedule: str | None = Field(default=None, min_length=1, max_length=100)
    """Cron expression in UTC of when it begins to hold. With `duration`. Default: always."""
    duration: KarpenterTime | None = None
    """How long it holds, in hours and minutes."""
    reasons: tuple[Literal["Underutilized", "Empty", "Drifted"], ...] = ()
    """For which reasons. Default: all of them."""

    @model_validator(mode="after")
    def _together(self) -> Self:
        if (self.schedule is None) != (self.duration is None):
            raise ValueError("schedule and duration are only used together")
        if self.duration is not None and "s" in self.duration:
            raise ValueError(f"duration {self.duration} has seconds; write hours and minutes")
        return self


class KarpenterDisruption(SpecModel):
    """When Karpenter may take nodes away that work."""

    consolidation_policy: Literal["WhenEmpty", "Balanced", "WhenEmptyOrUnderutilized"] | None = None
    """Default: by intent. training, batch, interactive: WhenEmpty; inference: Balanced."""
    consolidate_after: KarpenterDuration | None = None
    """How long a node must be idle first. Default: training 60m, batch 10m, inference 5m,
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
    """A taint that something else takes off once the node is ready; pods need not tolerate it."""

    key: str = Field(min_length=1, max_length=316)
    """Key of the taint, such as `example.com/agent-not-ready`."""
    value: str = Field(default="", max_length=63)
    """Default: empty."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """Default NoSchedule."""


class KarpenterReservations(SpecModel):
    """Capacity reservations of EC2 that are found by what they have, not by an id: at least one of
    `tags` and `match`."""

    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Those with all of these tags. Default: whatever tags."""
    owner_id: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] | None = None
    """Those of this account, which shares them. Default: whoever owns them."""
    match: Literal["open", "targeted"] | None = None
    """Those that any machine may use (`open`), or only machines that name them. Default: both."""

    @model_validator(mode="after")
    def _selects(self) -> Self:
        if not self.tags and self.match is None:
            raise ValueError("neither tags nor match is given: Karpenter refuses such a selector")
        return self


class KarpenterPoolOptions(SpecModel):
    """What only Karpenter needs to know."""

    expire_after: KarpenterDuration | None = None
    """Longest life of a node. Default: 720h; for training, Never."""
    termination_grace_period: KarpenterTime | None = None
    """How long a node that must go may wait for its pods. Default: training 24h, batch 4h,
    inference 1h, interactive 8h."""
    disruption: KarpenterDisruption = Field(default_factory=KarpenterDisruption)
    """When working nodes may go. Default: by intent."""
    requirements: Annotated[tuple[KarpenterRequirement, ...], Field(max_length=40)] = ()
    """Further conditions. Default: none."""
    startup_taints: Annotated[tuple[StartupTaint, ...], Field(max_length=20)] = ()
    """Taints nodes are born with and something of yours removes. Default: none; Karpenter waits for
    the GPUs by itself."""
    reservations: Annotated[tuple[KarpenterReservations, ...], Field(max_length=30)] = ()
    """Capacity reservations that are found by tags, owner or match, at most 30 with those that
    `capacity` names; they are used first. Default: none."""
    static: bool = False
    """Keep `nodes.min` nodes whether pods ask for them or not; Karpenter then adds none for pods,
    and up to `nodes.max` while it replaces nodes (Karpenter's gate StaticCapacity). Default false.
    Changing it makes a new NodePool."""
    buffer: bool = False
    """Keep `nodes.min` nodes free beside those that pods use, up to `nodes.max` in all, by a
    CapacityBuffer (Karpenter's gate CapacityBuffer, alpha from 1.14). Default false."""
    price_adjustment: (
        Annotated[str, StringConstraints(pattern=r"^[+-][0-9]{1,12}(\.[0-9]{1,6})?%?$")]
        | None
        | None
    ) = None
    """Difference of the price at which Karpenter compares the pool's machines, `-15%` or `+0.25`
    USD per hour: a discount that EC2's list does not show. Spend follows the catalogue. Default:
    the list price."""
    node_pool: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw fields of the NodePool's `spec`, as karpenter.sh/v1 spells them, merged last. Lists are
    replaced."""
    node_class: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw fields of the `spec` of its EC2NodeClass, or of the NodeClass of EKS Auto Mode, merged
    last. Lists are replaced."""
    placement_group: str | None = Field(default=None, min_length=1, max_length=255)
    """Name of a placement group that exists, where machines start; none is made then. A node group
    names one in `eks.launchTemplate.placement`. Default: none."""
    weight: int | None = Field(default=None, ge=1, le=100)
    """Preference among pools that fit a pod, 1 to 100, highest first. Default: none."""

    @model_validator(mode="after")
    def _one_way_to_keep_nodes(self) -> Self:
        if self.static and self.buffer:
            raise ValueError("static and buffer are both true: a static pool adds no nodes")
        return self
