"""NodePool: one group of equal machines of any maker, with the fields that rules need.

Money is micro-dollars an hour, memory is bytes, times are seconds.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from gpufleet.catalogue.google_zones import region_of_google_zone
from gpufleet.cluster.fact import NOTHING, Fact, unknown
from gpufleet.cluster.fleet import COMMITTED, PoolFacts
from gpufleet.cluster.subject import Subject

_AWS_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-[0-9]+)[a-z]")
"""Zones of AWS whose region is a part of their name: `eu-central-1a`."""
_REGION_LABEL = "topology.kubernetes.io/region"

OPERATED = frozenset({"image", "operator", "plugin", "claims"})
"""Advertisers on whose nodes operands run: not those of the platform's own plugin, and of other
makers' accelerators."""

MOST_GPUS = 1024
"""Maximum number of GPUs of one node; a larger number is an error and is read as unknown."""


NOT_ACCEPTED_KEY = "gpufleet.dev/not-accepted"
"""Key of the taint that a node loses when it has passed the tests of `acceptance`."""
ACCEPTANCE_LABEL = "gpufleet.dev/acceptance"
"""Label of the pods of these tests; its value is the pool."""
POOL_LABEL = "gpufleet.dev/pool"
"""Label of nodes with the name of their pool."""


class Maker(StrEnum):
    """Who makes the machines: decides which fields exist and what their absence means."""

    EKS = "eks"
    """EKS managed node group."""
    AWS = "aws"
    """Auto Scaling group or single instances."""
    GKE = "gke"
    KARPENTER = "karpenter"
    CLUSTER_API = "cluster-api"
    OPENSHIFT = "openshift"
    VSPHERE = "vsphere"
    FLEET = "fleet"
    """A pool of GpuFleet, compiled."""


@dataclass(frozen=True, slots=True)
class PoolTaint:
    """A taint in Kubernetes' spelling."""

    key: str
    effect: str
    """`NoSchedule`, `PreferNoSchedule`, `NoExecute`."""
    value: str | None = None
    """None: not known."""

    @property
    def repels(self) -> bool:
        """Whether it keeps pods away that do not tolerate it, for good."""
        return self.effect in ("NoSchedule", "NoExecute") and self.key != NOT_ACCEPTED_KEY


@dataclass(frozen=True, slots=True)
class Size:
    """How many nodes there may be, all zones together."""

    minimum: Fact[int] = NOTHING
    maximum: Fact[int] = NOTHING
    """Absent: nothing limits it."""
    current: Fact[int] = NOTHING
    """As written now; absent where an autoscaler decides."""
    minimum_place: str = ""
    """Field that holds the minimum, as its author knows it."""
    maximum_place: str = ""
    fixed: bool = False
    """Whether nothing ever scales it."""
    zones: int = 1
    """Zones that `minimum_place` and `maximum_place` count each of (GKE)."""

    @property
    def standing(self) -> Fact[int]:
        """Nodes that are there at the least: the minimum, or the fixed count."""
        return self.current if self.fixed and not self.current.is_absent else self.minimum


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """One entry of a Karpenter pool's `disruption.budgets`."""

    nodes: Fact[str]
    reasons: Fact[tuple[str, ...]] = NOTHING
    """Absent: all reasons."""
    scheduled: bool = False
    """Whether it counts at some times only."""

    def always_zero_for(self, reason: str) -> bool:
        """Whether it forbids this kind of disruption at all times."""
        if not self.nodes.is_known or self.nodes.value not in ("0", "0%") or self.scheduled:
            return False
        return self.reasons.is_absent or (self.reasons.is_known and reason in self.reasons.value)


@dataclass(frozen=True, slots=True)
class KarpenterFacts:
    """What only a Karpenter NodePool has."""

    static: bool = False
    """`spec.replicas` is set: fixed size, never consolidated."""
    limits: Mapping[str, Fact[Fraction]] = field(default_factory=dict[str, "Fact[Fraction]"])
    """Resource -> limit in its base unit (cores, bytes, devices, nodes)."""
    limits_known: bool = True
    policy: Fact[str] = NOTHING
    """`consolidationPolicy`, its default applied."""
    consolidate_after: Fact[str] = NOTHING
    """As written, its default applied: `0s`, `Never`."""
    consolidate_after_seconds: Fact[int] = NOTHING
    """Absent for `Never`."""
    expire_after: Fact[str] = NOTHING
    """As written, its default applied: `720h`, `Never`."""
    expiry_written: bool = False
    termination_grace: Fact[str] = NOTHING
    budgets: Fact[tuple[DisruptionBudget, ...]] = NOTHING
    disruption_written: bool = False
    disruption_known: bool = True


@dataclass(frozen=True, slots=True)
class SharedGpus:
    """How each GPU of a pool is divided by the machine's own configuration."""

    strategy: Fact[str] = NOTHING
    """`exclusive`, `timeSlicing`, `mps`, `mig`; absent: whole GPUs, as far as the pool says."""
    replicas: Fact[int] = NOTHING
    partition: Fact[str] = NOTHING
    """MIG profile that partitions each GPU."""
    mig: Fact[bool] = NOTHING
    """Whether its GPUs are in MIG mode, whoever cuts them."""
    place: str = ""


@dataclass(frozen=True, slots=True)
class TagField:
    """Where a pool takes tags or labels for accounting without replacing its machines."""

    place: str
    written: bool
    """Whether the field is there at all."""
    listed: bool = False
    """Whether it is a list of keys and values, as in an Auto Scaling group, and no mapping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool(Subject):
    """One group of like machines."""

    name: str
    maker: Maker
    cluster: Fact[str] = NOTHING
    """Name of the cluster it joins, to tell the pools of one cluster from those of another."""
    instance_types: Fact[tuple[str, ...]] = NOTHING
    """All machine types it may use, where they can be listed; absent: not declared here."""
    instance_types_place: str = ""
    types_listed_at: str = ""
    """The list of machine types, where one can be dropped and the pool stays; empty: nowhere."""
    asks_for_choice: bool = False
    """Whether it declares a minimum number of machine types to choose from."""
    gpu: Fact[str] = NOTHING
    """Key of the catalogue; absent: no GPU, or the pool does not declare one."""
    gpus_per_node: Fact[int] = NOTHING
    """Of the largest type. Absent with `gpu` absent."""
    is_gpu_pool: Fact[bool] = NOTHING
    """Whether its machines have NVIDIA GPUs. Unknown where that cannot be decided."""
    is_shape_open: bool = False
    """Whether it may also use machine types without GPUs, or types that are not listed."""
    is_mixed: bool = False
    """Whether it names machines with GPUs and machines without."""
    size: Size = field(default_factory=Size)
    capacity: Fact[frozenset[str]] = NOTHING
    """Ways of buying it may use, in the spelling of FleetSpec: `onDemand`, `spot`, `reserved`,
    `capacityBlock`, `flexStart`, `queued`, `onPrem`."""
    capacity_place: str = ""
    reservations: tuple[str, ...] = ()
    """Ids or names of the reservations it consumes, as far as known."""
    commitment: bool = False
    """Whether tags or annotations say that it is paid for anyway."""
    taints: Fact[tuple[PoolTaint, ...]] = NOTHING
    taints_place: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of its nodes whose values are known."""
    labels_known: bool = True
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags or labels for accounting whose values are known."""
    tags_known: bool = True
    tags_place: str = ""
    tag_field: TagField | None = None
    """None where an added tag would replace machines, or no field of the object takes tags."""
    zones: Fact[tuple[str, ...]] = NOTHING
    """Zones, or the subnets that represent them."""
    region: Fact[str] = NOTHING
    """Where the object itself says so; `price_region` also reads zones and labels."""
    shared: SharedGpus = field(default_factory=SharedGpus)
    launch_template: str = ""
    """Name or id of a launch template or node class that holds more; empty: none."""
    placement_group: Fact[str] = NOTHING
    fabric: Fact[str] = NOTHING
    """Fast network that its machines are given: `efa`, `gpudirect`, `rdma`."""
    repair: Fact[bool] = NOTHING
    """Whether broken nodes are replaced automatically; absent: the maker has no such switch."""
    repair_place: str = ""
    repairer: str = ""
    """Who replaces them, as sentences name it; empty: what its maker has."""
    warm_nodes: Fact[int] = NOTHING
    """Running nodes of the pool's warm pool (EKS `warmPoolConfig`); absent: none."""
    longest_run_seconds: Fact[int] = NOTHING
    """Time after which each node is removed automatically."""
    karpenter: KarpenterFacts | None = None
    vgpu_profile: Fact[str] = NOTHING
    """vGPU type its machines are given."""
    image: Fact[str] = NOTHING
    """Node image by the maker's name: EKS `amiType`, a name or SSM parameter of a template."""
    kubernetes: Fact[str] = NOTHING
    """Version of Kubernetes of its nodes, as written: `1.36`, `1.33.5-gke.1201000`."""
    brings: Fact[frozenset[str]] = NOTHING
    """Parts of the GPU stack that its image or platform installs: `driver`, `toolkit`,
    `device_plugin`. Unknown: it is a template of one's own. Absent: nothing can be said."""
    driver: Fact[str] = NOTHING
    """Version or branch of the driver that the image brings."""
    advertiser: Fact[str] = NOTHING
    """Who is to advertise its GPUs: a word of `gpufleet.contract.advertisers.Advertiser`."""
    advertised: Fact[Mapping[str, int]] = NOTHING
    """Extended resources that each node publishes."""
    reset_may_be_forbidden: Fact[bool] = NOTHING
    """Whether its nodes are virtual machines on a hypervisor that may forbid to reset a GPU."""
    existing: bool = False
    """Whether its declaration says that someone else makes the nodes."""
    declared_at: str = ""
    """Path of the pool in a declaration, `pools[0]`; empty: it is an object of its own."""
    hourly_micro_usd: Fact[int] = NOTHING
    """One node, where the pool itself states it; absent: the catalogue decides."""
    in_fleet: bool = False
    """Whether GpuFleet made it: then the rules check the fleet's own properties instead."""
    intent: Fact[str] = NOTHING
    """What it is for: training, batch, inference, interactive."""
    compiled: PoolFacts | None = None
    """The compiled pool of a fleet it represents; None for pools that others declare."""
    autoscaled_by: Fact[str] = NOTHING
    """`cluster-autoscaler` where tags say so."""

    def __post_init__(self) -> None:
        Subject.__post_init__(self)
        count = self.gpus_per_node
        if count.is_known and not 0 <= count.value <= MOST_GPUS:
            object.__setattr__(self, "gpus_per_node", unknown(count.place))

    @property
    def price_region(self) -> str | None:
        """The region whose prices count; None where neither region nor zones are known."""
        if self.region.is_known:
            return self.region.value
        if _REGION_LABEL in self.labels:
            return self.labels[_REGION_LABEL]
        zones = self.zones.value if self.zones.is_known else ()
        return region_of_zones(zones)

    @property
    def is_operated(self) -> bool:
        """Whether operands of the GPU Operator, or of the plugin's own chart, certainly run on its
        nodes."""
        return self.advertiser.is_known and self.advertiser.value in OPERATED

    @property
    def is_certainly_gpu(self) -> bool:
        """Whether it is known to carry GPUs."""
        return self.is_gpu_pool.is_known and self.is_gpu_pool.value

    @property
    def is_certainly_not_gpu(self) -> bool:
        """Whether it is known to carry none."""
        return self.is_gpu_pool.is_known and not self.is_gpu_pool.value

    @property
    def is_committed(self) -> bool:
        """Whether it may be paid for anyway; what is not known counts as committed."""
        if self.commitment or self.reservations or self.capacity.is_unknown:
            return True
        return self.capacity.is_known and bool(COMMITTED & self.capacity.value)


def region_of_zones(zones: tuple[str, ...]) -> str | None:
    """The one region all these zones are in; None for none, for several, and for subnets."""
    regions = {_region_of(zone) for zone in zones}
    return regions.pop() if len(regions) == 1 else None


def _region_of(zone: str) -> str | None:
    of_aws = _AWS_ZONE.fullmatch(zone)
    return region_of_google_zone(zone) if of_aws is None else of_aws[1]
