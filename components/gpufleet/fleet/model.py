"""Fleet: the result of compiling a declaration. Frozen data, from which files are rendered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from gpufleet.catalogue import MICRO_USD, Gpu, InstanceType, NodeImage
from gpufleet.cluster.pods import PodToleration
from gpufleet.cluster.pool import NOT_ACCEPTED_KEY
from gpufleet.contract.owners import Owners
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, has_errors
from gpufleet.fleet import windows
from gpufleet.partition.partition import Partition
from gpufleet.spec.acceptance import AcceptancePolicy
from gpufleet.spec.base import Ownership
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.health import HealthPolicy
from gpufleet.spec.network_operator import RdmaResource
from gpufleet.spec.pool import Fabric, GpuPool, Intent, Provisioner

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Machine:
    """One possible machine of a pool: an instance type, or the shape of an on-premises machine."""

    name: str
    architecture: str
    vcpu: int | None
    memory_bytes: int | None
    local_nvme_bytes: int | None
    efa_interfaces: int
    gpus: int
    fraction: Fraction
    """Share of a physical GPU that each device has; 1 except for fractional instance types."""
    instance: InstanceType | None
    """Row of the catalogue; None for own hardware."""
    fee_micro_usd: int | None = 0
    """Hourly fee of the cloud's provisioner; None if no source has it."""


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A spend without a bound, and the reasons: each cause names its pool."""

    causes: tuple[str, ...]


Money = int | Unbounded
"""Micro-dollars per hour, or the reason there is no bound."""


@dataclass(frozen=True, slots=True)
class SpendBounds:
    """Minimum, expected and maximum cost of a pool or a fleet per hour.

    Each is an exact sum over pools of nodes x price, in micro-dollars.
    """

    minimum: Money
    """Minimum number of nodes at the cheapest capacity type of the pool."""
    expected: Money
    """Expected number of nodes at the first capacity type."""
    maximum: Money
    """Maximum number of nodes at the most expensive capacity type of the pool."""

    def usd(self, bound: Money) -> Decimal | None:
        """The bound in dollars, or None when it is unbounded."""
        return None if isinstance(bound, Unbounded) else Decimal(bound) / MICRO_USD


@dataclass(frozen=True, slots=True)
class NodeRange:
    """Possible numbers of nodes of a pool."""

    minimum: int
    expected: int
    maximum: int


@dataclass(frozen=True, slots=True)
class NodeTaint:
    """A taint in Kubernetes' form."""

    key: str
    value: str
    effect: str


GPU_TAINT = NodeTaint("nvidia.com/gpu", "present", "NoSchedule")
"""The taint of every GPU pool: all GPU Operator operands tolerate the key, and GKE sets the same
taint (NVIDIA gpu-operator v26.7.0 `daemonsets.tolerations`; GKE documentation)."""

TPU_TAINT = NodeTaint("google.com/tpu", "present", "NoSchedule")
"""The taint of every TPU pool, which GKE itself sets (AI-Hypercomputer/xpk v1.13)."""

NEURON_TAINT = NodeTaint("aws.amazon.com/neuron", "present", "NoSchedule")
"""The taint of every Trainium and Inferentia pool: Neuron's device plugin tolerates the key
(aws-neuron/neuron-helm-charts 1.0.0)."""

NOT_ACCEPTED = NodeTaint(NOT_ACCEPTED_KEY, "new", "NoSchedule")
"""The taint of nodes that have not passed the tests of `acceptance`: no work tolerates it."""

_TAINTS = {"google": TPU_TAINT, "aws": NEURON_TAINT}


def accelerator_taint(gpu: Gpu) -> NodeTaint:
    """The taint that keeps away pods without a request for the accelerator."""
    return _TAINTS.get(gpu.vendor, GPU_TAINT)


@dataclass(frozen=True, slots=True)
class Previous:
    """State of nodes that a layout change in progress has not reached yet."""

    partition: Partition
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pool:
    """One compiled pool."""

    name: str
    path: str
    """Path of the declaration: `pools[0]`."""
    spec: GpuPool
    platform: PlatformValue
    provisioner: Provisioner
    ownership: Ownership
    intent: Intent
    fabric: Fabric
    gpu: Gpu
    machines: tuple[Machine, ...]
    """In order of preference; all have the same GPU, number of GPUs and architecture."""
    nodes: NodeRange
    capacity: tuple[Capacity, ...]
    partition: Partition
    image: NodeImage | None
    owners: Owners
    labels: Mapping[str, str]
    """Labels that a node registers with."""
    taints: tuple[NodeTaint, ...]
    hourly_micro_usd: int | None
    """Price of one node at the pool's first capacity type; None when not known."""
    spend: SpendBounds
    served_by_platform: bool = False
    """Whether the platform's own device plugin partitions and advertises the GPUs."""
    plugin_waits: bool = False
    """Whether the MIG manager can hold the device plugin back: the GPU Operator runs both."""
    previous: Previous | None = None
    """During a layout change (`change`): the present state of nodes of later waves."""
    at: datetime | None = None
    """The time of the evaluation; None: every window counts as open."""
    health: HealthPolicy | None = None
    """Handling of broken nodes; None: as the platform's own options declare."""
    acceptance: AcceptancePolicy | None = None
    """Tests before work; None: no tests."""

    @property
    def work_taints(self) -> tuple[NodeTaint, ...]:
        """Permanent taints, which workloads must tolerate."""
        return tuple(taint for taint in self.taints if taint.key != NOT_ACCEPTED.key)

    @property
    def available_nodes(self) -> int:
        """Maximum number of nodes at the time of the evaluation: 0 outside every window, fewer
        during maintenance."""
        found = windows.nodes_at(
            self.capacity,
            self.spec.maintenance,
            self.machines[0].name,
            self.nodes.maximum,
            self.at,
        )
        return found.total

    @property
    def committed_gpus(self) -> Mapping[str, int]:
        """Team -> GPUs that are promised to it at the time of the evaluation."""
        return windows.committed(self.spec.commitments, self.at)

    @property
    def gpus_per_node(self) -> int:
        """GPU devices of each node."""
        return self.machines[0].gpus

    @property
    def advertised(self) -> Mapping[str, int]:
        """Extended resources each node publishes."""
        return self.partition.advertised

    @property
    def hourly_usd(self) -> Decimal | None:
        """Price of one node at the pool's first capacity type, USD an hour; None: not known."""
        if self.hourly_micro_usd is None:
            return None
        return Decimal(self.hourly_micro_usd) / MICRO_USD


@dataclass(frozen=True, slots=True)
class ChartPlan:
    """Whether a chart is needed, its owner, and its pins."""

    enabled: bool
    ownership: Ownership
    version: str
    namespace: str

    @property
    def ours(self) -> bool:
        """Whether gpufleet installs it."""
        return self.enabled and self.ownership is Ownership.MANAGED

    @property
    def rendered(self) -> bool:
        """Whether files for it are written: also for a GitOps tool."""
        return self.enabled and self.ownership is not Ownership.EXISTING


@dataclass(frozen=True, slots=True)
class OperatorPlan(ChartPlan):
    """Parts that the GPU Operator runs, and pinned versions."""

    driver: bool
    toolkit: bool
    device_plugin: bool
    mig_manager: bool
    mig_strategy: str
    """`none`, `single` or `mixed`: one for the cluster, it overrides any per-node setting."""
    dcgm_exporter: bool
    node_feature_discovery: bool
    tolerations: tuple[PodToleration, ...] = ()
    """Taints that operands must tolerate in addition to the GPU taint, to run on every pool."""
    license_secret: str | None = None
    """Secret with the licence of vGPU guests, as the pools name it."""
    driver_root: str | None = None
    """Directory of a driver that the platform installs, if it is not the operator's own."""
    toolkit_env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables that the toolkit needs on this platform."""
    mig_env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment of the MIG manager: as declared, and a reboot if a reset may be refused."""
    separate_drivers: bool = False
    """Whether each pool has an NVIDIADriver: the cluster has vGPU guests and whole GPUs."""


@dataclass(frozen=True, slots=True)
class NetworkPlan(ChartPlan):
    """Parts that the Network Operator runs, and pinned versions."""

    node_feature_discovery: bool
    rdma: tuple[RdmaResource, ...]
    """Resources of the RDMA shared device plugin."""
    wait: bool
    """Whether networks and GPU Operator wait until the NicClusterPolicy is ready."""
    there: frozenset[str] = frozenset()
    """Parts of secondary networks that the platform already has: they are not installed again."""
    tolerations: tuple[PodToleration, ...] = ()
    """Taints that its operands must tolerate in addition to the GPU taint."""


@dataclass(frozen=True, slots=True)
class DevicePluginPlan(ChartPlan):
    """Settings of the standalone device plugin, and pinned versions."""

    mig_strategy: str
    """`none`, `single` or `mixed`, for all its nodes."""
    gpu_feature_discovery: bool
    node_feature_discovery: bool
    pools: tuple[str, ...]
    """Pools whose GPUs it advertises: neither their image nor the DRA driver serves them."""
    tolerations: tuple[PodToleration, ...] = ()
    """Taints that its pods must tolerate in addition to the GPU taint."""


@dataclass(frozen=True, slots=True)
class NeuronPlan(ChartPlan):
    """Parts that Neuron's chart runs, and pinned versions."""

    scheduler: bool
    """Whether the scheduler extension runs."""
    node_problem_detector: bool
    node_recovery: bool
    tolerations: tuple[PodToleration, ...] = ()
    """Taints that its device plugin must tolerate in addition to the taint of Neuron pools."""


GPU_OPERATOR = "gpu-operator"
NETWORK_OPERATOR = "network-operator"
"""Names of the operators' charts, and of their subscriptions."""


@dataclass(frozen=True, slots=True)
class OperatorSubscription:
    """One operator that Operator Lifecycle Manager installs and updates."""

    name: str
    package: str
    catalog: str
    """CatalogSource."""
    catalog_namespace: str
    namespace: str
    group: str
    """OperatorGroup."""
    channel: str
    starting_csv: str | None
    """ClusterServiceVersion to start with; None: the latest of the channel."""
    manual: bool
    """Whether an administrator approves each version."""
    wait_minutes: int
    ownership: Ownership


@dataclass(frozen=True, slots=True)
class AddonPlan:
    """The cluster-wide add-ons."""

    gpu_operator: OperatorPlan
    network_operator: NetworkPlan
    device_plugin: DevicePluginPlan
    neuron: NeuronPlan
    subscriptions: tuple[OperatorSubscription, ...] = ()
    """Operators that Operator Lifecycle Manager installs instead of charts, in order."""

    def subscription(self, name: str) -> OperatorSubscription | None:
        """The subscription of that name; None if there is none."""
        return next((one for one in self.subscriptions if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Everything that follows from one FleetSpec and one catalogue edition."""

    spec: FleetSpec
    platform: PlatformValue
    pools: tuple[Pool, ...]
    """The pools that could be compiled: all of them exactly when no finding is an error."""
    addons: AddonPlan
    findings: tuple[Finding, ...]
    spend: SpendBounds

    @property
    def deployable(self) -> bool:
        """Whether no finding is an error."""
        return not has_errors(self.findings)

    def pool(self, name: str) -> Pool:
        """The compiled pool of that name. Raises KeyError when there is none."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)

    def team_of_namespaces(self) -> dict[str, str]:
        """Namespace -> team, from the queues of the declaration; if several teams name it, the
        first."""
        found: dict[str, str] = {}
        for team in () if self.spec.queues is None else self.spec.queues.teams:
            for namespace in sorted(set(team.namespaces) or {team.name}):
                found.setdefault(namespace, team.name)
        return found
