"""NodePool: one group of equal machines on any platform, with the fields that rules need.

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
"""Advertisers with operands on their nodes: not the plugins of platforms, and not those for
accelerators of other vendors."""

MOST_GPUS = 1024
"""Maximum number of GPUs of one node; a larger number is an error and is read as unknown."""


NOT_ACCEPTED_KEY = "gpufleet.dev/not-accepted"
"""Key of the taint that a node loses when it passes the tests of `acceptance`."""
ACCEPTANCE_LABEL = "gpufleet.dev/acceptance"
"""Label of the pods of these tests; its value is the pool."""
POOL_LABEL = "gpufleet.dev/pool"
"""Label of nodes with the name of their pool."""


class Maker(StrEnum):
    """What creates the machines: it decides which fields exist and the meaning of absent fields."""

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
        """Whether it permanently keeps away pods that do not tolerate it."""
        return self.effect in ("NoSchedule", "NoExecute") and self.key != NOT_ACCEPTED_KEY


@dataclass(frozen=True, slots=True)
class Size:
    """Possible numbers of nodes, for all zones together."""

    minimum: Fact[int] = NOTHING
    maximum: Fact[int] = NOTHING
    """Absent: no limit."""
    current: Fact[int] = NOTHING
    """As written; absent if an autoscaler decides."""
    minimum_place: str = ""
    """Field that holds the minimum, in the author's spelling."""
    maximum_place: str = ""
    fixed: bool = False
    """Whether nothing scales it."""
    zones: int = 1
    """Number of zones to each of which `minimum_place` and `maximum_place` apply (GKE)."""

    @property
    def standing(self) -> Fact[int]:
        """Minimum number of nodes that always run: the minimum, or the fixed count."""
        return self.current if self.fixed and not self.current.is_absent else self.minimum


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """One entry of a Karpenter pool's `disruption.budgets`."""

    nodes: Fact[str]
    reasons: Fact[tuple[str, ...]] = NOTHING
    """Absent: all reasons."""
    scheduled: bool = False
    """Whether it applies only at some times."""

    def always_zero_for(self, reason: str) -> bool:
        """Whether it forbids this kind of disruption at all times."""
        if not self.nodes.is_known or self.nodes.value not in ("0", "0%") or self.scheduled:
            return False
        return self.reasons.is_absent or (self.reasons.is_known and reason in self.reasons.value)


@dataclass(frozen=True, slots=True)
class KarpenterFacts:
    """Fields that only a Karpenter NodePool has."""

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
    """How the machine's own configuration divides each GPU of a pool."""

    strategy: Fact[str] = NOTHING
    """`exclusive`, `timeSlicing`, `mps`, `mig`; absent: whole GPUs, unless configured elsewhere."""
    replicas: Fact[int] = NOTHING
    partition: Fact[str] = NOTHING
    """MIG profile that partitions each GPU."""
    mig: Fact[bool] = NOTHING
    """Whether its GPUs are in MIG mode, for every way of partitioning."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool(Subject):
    """One group of like machines."""

    name: str
    maker: Maker
    cluster: Fact[str] = NOTHING
    """Name of the cluster that it joins, to separate pools of different clusters."""
    instance_types: Fact[tuple[str, ...]] = NOTHING
    """All machine types it may use, if they can be listed; absent: not declared here."""
    instance_types_place: str = ""
    gpu: Fact[str] = NOTHING
    """Key in the catalogue; absent: no GPU, or the pool does not declare one."""
    gpus_per_node: Fact[int] = NOTHING
    """GPUs of the largest machine type. Absent with `gpu` absent."""
    is_gpu_pool: Fact[bool] = NOTHING
    """Whether its machines have NVIDIA GPUs. Unknown if the input does not decide it."""
    is_shape_open: bool = False
    """Whether it may also use machine types without GPUs, or types that are not listed."""
    is_mixed: bool = False
    """Whether it lists machines with GPUs and machines without."""
    size: Size = field(default_factory=Size)
    capacity: Fact[frozenset[str]] = NOTHING
    """Capacity types that it may use, in the spelling of FleetSpec: `onDemand`, `spot`,
    `reserved`, `capacityBlock`, `flexStart`, `queued`, `onPrem`."""
    capacity_place: str = ""
    reservations: tuple[str, ...] = ()
    """Ids or names of the reservations that it uses, as far as known."""
    commitment: bool = False
    """Whether tags or annotations mark it as paid for even if unused."""
    taints: Fact[tuple[PoolTaint, ...]] = NOTHING
    taints_place: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of its nodes with known values."""
    labels_known: bool = True
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Cost-accounting tags or labels with known values."""
    tags_known: bool = True
    tags_place: str = ""
    zones: Fact[tuple[str, ...]] = NOTHING
    """Zones, or the subnets that represent them."""
    region: Fact[str] = NOTHING
    """The region that the object gives; `price_region` also reads zones and labels."""
    shared: SharedGpus = field(default_factory=SharedGpus)
    launch_template: str = ""
    """Name or id of a launch template or node class with further fields; empty: none."""
    placement_group: Fact[str] = NOTHING
    fabric: Fact[str] = NOTHING
    """Fast network of its machines: `efa`, `gpudirect`, `rdma`."""
    repair: Fact[bool] = NOTHING
    """Whether broken nodes are replaced automatically; absent: its kind has no such setting."""
    repair_place: str = ""
    repairer: str = ""
    """Program that replaces them, for messages; empty: the one of the platform."""
    warm_nodes: Fact[int] = NOTHING
    """Running nodes of the pool's warm pool (EKS `warmPoolConfig`); absent: none."""
    longest_run_seconds: Fact[int] = NOTHING
    """Time after which each node is removed automatically."""
    karpenter: KarpenterFacts | None = None
    vgpu_profile: Fact[str] = NOTHING
    """vGPU type of its machines."""
    image: Fact[str] = NOTHING
    """Node image in the provider's form: EKS `amiType`, a name or SSM parameter of a template."""
    kubernetes: Fact[str] = NOTHING
    """Version of Kubernetes of its nodes, as written: `1.36`, `1.33.5-gke.1201000`."""
    disk_gib: Fact[int] = NOTHING
    """Root disk of a managed node group of EKS, its default applied; absent: not declared here."""
    brings: Fact[frozenset[str]] = NOTHING
    """Parts of the GPU stack that its image or platform installs: `driver`, `toolkit`,
    `device_plugin`. Unknown: a custom image or template. Absent: no information."""
    driver: Fact[str] = NOTHING
    """Version or branch of the driver in the image."""
    advertiser: Fact[str] = NOTHING
    """Program that advertises its GPUs: a value of `gpufleet.contract.advertisers.Advertiser`."""
    advertised: Fact[Mapping[str, int]] = NOTHING
    """Extended resources that each node publishes."""
    reset_may_be_forbidden: Fact[bool] = NOTHING
    """Whether its nodes are virtual machines on a hypervisor that may forbid a reset of a GPU."""
    existing: bool = False
    """Whether its declaration has `ownership: existing`: gpufleet does not create its nodes."""
    declared_at: str = ""
    """Path of the pool in a declaration, `pools[0]`; empty: it is an object of its own."""
    hourly_micro_usd: Fact[int] = NOTHING
    """Price of one node that the pool itself gives; absent: the price of the catalogue."""
    in_fleet: bool = False
    """Whether GpuFleet created it: the rules then check the fleet's own properties."""
    intent: Fact[str] = NOTHING
    """Its purpose: training, batch, inference, interactive."""
    compiled: PoolFacts | None = None
    """The compiled pool of a fleet that it represents; None for other pools."""
    autoscaled_by: Fact[str] = NOTHING
    """`cluster-autoscaler` if tags name it."""

    def __post_init__(self) -> None:
        Subject.__post_init__(self)
        count = self.gpus_per_node
        if count.is_known and not 0 <= count.value <= MOST_GPUS:
            object.__setattr__(self, "gpus_per_node", unknown(count.place))

    @property
    def price_region(self) -> str | None:
        """The region of its prices; None if neither region nor zones are known."""
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
        """Whether it certainly has GPUs."""
        return self.is_gpu_pool.is_known and self.is_gpu_pool.value

    @property
    def is_certainly_not_gpu(self) -> bool:
        """Whether it certainly has no GPUs."""
        return self.is_gpu_pool.is_known and not self.is_gpu_pool.value

    @property
    def is_committed(self) -> bool:
        """Whether it may be paid for even if unused; an unknown field counts as yes."""
        if self.commitment or self.reservations or self.capacity.is_unknown:
            return True
        return self.capacity.is_known and bool(COMMITTED & self.capacity.value)


def region_of_zones(zones: tuple[str, ...]) -> str | None:
    """The region that all these zones share; None for none, for several, and for subnets."""
    regions = {_region_of(zone) for zone in zones}
    return regions.pop() if len(regions) == 1 else None


def _region_of(zone: str) -> str | None:
    of_aws = _AWS_ZONE.fullmatch(zone)
    return region_of_google_zone(zone) if of_aws is None else of_aws[1]
