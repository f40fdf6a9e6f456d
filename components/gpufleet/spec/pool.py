"""A pool: identical GPU nodes and how their GPUs are shared."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpufleet.spec.acceptance import AcceptancePolicy
from gpufleet.spec.base import DnsLabel, Ownership, PoolName, SpecModel
from gpufleet.spec.capacity import Capacity, MaintenanceWindow, TeamCommitment
from gpufleet.spec.health import HealthPolicy
from gpufleet.spec.idle import IdlePolicy
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.kubelet import Kubelet
from gpufleet.spec.neuron import NeuronOptions
from gpufleet.spec.platforms.eks import EksOptions
from gpufleet.spec.platforms.existing import ExistingOptions
from gpufleet.spec.platforms.gke import GkeOptions
from gpufleet.spec.platforms.openshift import OpenShiftOptions
from gpufleet.spec.platforms.openshift_aws import OpenShiftAwsOptions
from gpufleet.spec.platforms.openshift_gcp import OpenShiftGcpOptions
from gpufleet.spec.platforms.vsphere import VsphereOptions
from gpufleet.spec.pool_kinds import Fabric, Intent, Provisioner
from gpufleet.spec.sharing import Sharing, exclusive

LabelKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
    ),
]
"""A Kubernetes label key: an optional DNS prefix and `/`, then at most 63 characters."""

LabelValue = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
]
"""A Kubernetes label value: at most 63 of letters, digits, `-`, `_` and `.`."""


class Nodes(SpecModel):
    """Possible numbers of nodes of the pool."""

    min: int = Field(ge=0, le=10_000)
    """Minimum number of nodes, 0 to 10000."""
    max: int = Field(ge=1, le=10_000)
    """Maximum number of nodes, 1 to 10000. There is no default: an unbounded pool has an unbounded
    cost."""
    expected: int | None = Field(default=None, ge=0, le=10_000)
    """Number of nodes in an average hour, for the expected spend. Default: the middle of min and
    max, rounded up."""


class Taint(SpecModel):
    """A taint in addition to the GPU taint of every pool."""

    key: LabelKey
    """Key of the taint, such as `example.com/team`."""
    value: LabelValue = ""
    """Default: empty."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """In Kubernetes' form; each cloud's own form is rendered. Default NoSchedule."""


class Disk(SpecModel):
    """Root disk of each node."""

    size_gib: int = Field(default=200, ge=50, le=16_384)
    """50 to 16384 GiB; default 200, because CUDA images do not fit the clouds' own default."""


class LayoutChange(SpecModel):
    """A change of sharing in progress on running nodes: made in waves, so that other nodes keep
    working. The nodes' present sharing stays applicable until the last wave; then remove the
    section.
    """

    previous: Sharing
    """Sharing of the GPUs until now: nodes of later waves keep it."""
    width: int = Field(default=1, ge=1, le=1000)
    """Nodes that change at the same time, 1 to 1000. Default 1. Each wave starts when every node of
    the previous one offers the new resources; a node that does not stops the change."""
    waves: int | None = Field(default=None, ge=0, le=10_000)
    """Waves that this update may make, counted from the start, 0 to 10000: drain the nodes of the
    next wave, raise it, update again. 0 only prepares both ways of sharing. Default: all."""
    timeout_seconds: int = Field(default=1200, ge=10, le=14_400)
    """Maximum time for one node to offer the new sharing, 10 to 14400 seconds. Default 1200, which
    includes a reboot."""


class GpuPool(SpecModel):
    """A group of identical GPU nodes."""

    name: PoolName
    """Name of the pool: lower case, starts with a letter, at most 40 characters."""
    gpu: str | None = Field(default=None, min_length=1, max_length=60)
    """GPU key of the catalogue, `L4`, `A100-80GB`. This or `instanceTypes`."""
    instance_types: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    """Instance types in order of preference, all with the same GPU and count. At most 20."""
    gpus_per_node: int | None = Field(default=None, ge=1, le=16)
    """GPUs of each node, 1 to 16. Default: as the instance types; with `gpu`, the smallest machine
    of the platform; 1 on own hardware."""
    nodes: Nodes
    """How many nodes."""
    intent: Intent = Intent.INFERENCE
    """Default inference."""
    provisioner: Provisioner | None = None
    """Default: the fleet's."""
    capacity: Annotated[tuple[Capacity, ...], Field(max_length=8)] = ()
    """Capacity types, in order of preference. Default: onDemand in a cloud, onPrem on own
    hardware."""
    sharing: Sharing = Field(default_factory=exclusive)
    """Default: `exclusive: {}`, whole GPUs."""
    fabric: Fabric = Fabric.NONE
    """Default none."""
    ownership: Ownership = Ownership.MANAGED
    """Default managed."""
    import_id: str | None = Field(default=None, min_length=1, max_length=300)
    """Id of an existing node group to import, only with `ownership: managed`."""
    image: str | None = Field(default=None, min_length=1, max_length=60)
    """Node image key of the catalogue, `al2023-nvidia`, `cos`. Default: the platform's."""
    zones: tuple[str, ...] = ()
    """Zones to use. Default: all with subnets in the connection."""
    disk: Disk = Field(default_factory=Disk)
    """Root disk of each node. Default 200 GiB."""
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict[str, str])
    """Labels that every node registers with, in addition to those that gpufleet derives."""
    gpu_taint: bool = True
    """Whether nodes have the taint `nvidia.com/gpu=present:NoSchedule`. Default true; use false
    only if all nodes of the cluster have GPUs."""
    change: LayoutChange | None = None
    """A change of `sharing` on nodes that are in use, made in waves. Default: all nodes at once."""
    taints: tuple[Taint, ...] = ()
    """Taints in addition to `nvidia.com/gpu=present:NoSchedule`, which every GPU pool has."""
    kubelet: Kubelet | None = None
    """CPU, memory and topology manager of the nodes' kubelet. Default: the platform's."""
    team: DnsLabel | None = None
    """Team that pays for the pool. Default: shared by all."""
    maintenance: Annotated[tuple[MaintenanceWindow, ...], Field(max_length=100)] = ()
    """Times in which nodes are out of service, at most 100. Default: none."""
    commitments: Annotated[tuple[TeamCommitment, ...], Field(max_length=200)] = ()
    """GPUs promised to teams for a time, at most 200. Default: none, `team` or the shares of
    `queues` decide."""
    health: HealthPolicy | None = None
    """Handling of broken nodes. Default: the fleet's."""
    acceptance: AcceptancePolicy | None = None
    """Tests that its nodes must pass before work. Default: the fleet's."""
    idle: IdlePolicy | None = None
    """Notebooks that are scaled to zero when their GPUs are idle; only with `intent: interactive`.
    Default: nothing is stopped."""
    neuron: NeuronOptions | None = None
    """Only with Trainium or Inferentia. Default: whole devices."""
    eks: EksOptions | None = None
    """Only on EKS. Default: none."""
    karpenter: KarpenterPoolOptions | None = None
    """Only with `provisioner: karpenter` and `autoMode`. Default: by intent."""
    gke: GkeOptions | None = None
    """Only on GKE. Default: none."""
    vsphere: VsphereOptions | None = None
    """Only on vSphere, and required there."""
    openshift: OpenShiftOptions | None = None
    """Only on OpenShift on vSphere, and required there for machines that gpufleet creates."""
    existing: ExistingOptions | None = None
    """Only for existing nodes. Default: every node with an NVIDIA GPU."""
    openshift_aws: OpenShiftAwsOptions | None = None
    """Only on OpenShift on AWS. Default: none."""
    openshift_gcp: OpenShiftGcpOptions | None = None
    """Only on OpenShift on Google Cloud. Default: none."""
