"""Settings of a pool for GKE only."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import SpecModel
from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION, KubernetesVersion

LONGEST_NAME = 40
"""Longest name of a cluster or node pool."""
CLUSTER_NAME = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
"""Names of clusters (GKE API, Cluster.name; google-cloud-container 2)."""
Raw = dict[str, Any]
"""Provider arguments in the provider's spelling, merged last."""


class UpgradeStrategy(StrEnum):
    """How GKE replaces the nodes of a pool when it upgrades them."""

    SURGE = "surge"
    """A few nodes at a time, `maxSurge` new ones and `maxUnavailable` missing ones. The default."""
    BLUE_GREEN = "blueGreen"
    """All nodes twice for some time: needs twice the GPUs."""
    SHORT_LIVED = "shortLived"
    """Nodes stay until their run ends: for flex start and queued capacity."""


class GkeUpgrade(SpecModel):
    """How a node pool is upgraded."""

    strategy: UpgradeStrategy | None = None
    """Default surge; shortLived for flex start and queued capacity."""
    max_surge: int = Field(default=0, ge=0, le=20)
    """Nodes added during an upgrade, 0 to 20. Default 0: spare GPUs are rarely available."""
    max_unavailable: int = Field(default=1, ge=0, le=20)
    """Nodes that may be missing during an upgrade, 0 to 20. Default 1."""

    @model_validator(mode="after")
    def _moves(self) -> Self:
        at_once = self.max_surge + self.max_unavailable
        if self.strategy in (None, UpgradeStrategy.SURGE) and not 1 <= at_once <= 20:
            raise ValueError(
                f"maxSurge {self.max_surge} and maxUnavailable {self.max_unavailable} together must"
                " be 1 to 20 nodes"
            )
        return self


class LocalSsdUse(StrEnum):
    """Use of local SSDs."""

    EPHEMERAL = "ephemeral"
    """One volume that holds images, logs and `emptyDir`. The default."""
    RAW = "raw"
    """Block devices, for a driver that provides them as volumes."""


class GkeOptions(SpecModel):
    """Settings for GKE only."""

    driver: Literal["gke", "gpuOperator"] = "gke"
    """Program that installs driver and device plugin: GKE (default) or the GPU Operator."""
    driver_version: Literal["default", "latest"] = "default"
    """With `driver: gke`, and on Container-Optimized OS: the version that GKE recommends for the
    release, or its newest. Default default. A change creates a new node pool with `driver: gke`;
    with `gpuOperator`, nodes get it at their next start."""
    accelerator_network_profile: Literal["auto"] | None = None
    """`auto`: GKE creates the networks of a GPU machine. Default: the connection's networks."""
    compact_placement: bool = False
    """Nodes close together, in one zone. Default false."""
    open_reservations: bool = False
    """On-demand nodes use matching reservations of the project that are open to all. Default false:
    they do not."""
    limits: Literal["total", "perZone"] = "total"
    """Whether `nodes` counts all zones together or each zone. Default total."""
    location_policy: Literal["any", "balanced"] = "any"
    """`any` uses any zone with GPUs, `balanced` keeps zones even. Default any."""
    upgrade: GkeUpgrade = Field(default_factory=GkeUpgrade)
    """How nodes are upgraded. Default: one node at a time, without spare GPUs."""
    auto_upgrade: bool | None = None
    """Whether GKE upgrades nodes with the cluster. Default true; a cluster in a release channel
    refuses false."""
    auto_repair: bool | None = None
    """Whether GKE replaces broken nodes. Default true; false for flex start and queued capacity,
    where GKE refuses it."""
    disk_type: Annotated[str, StringConstraints(pattern=r"^(pd|hyperdisk)-[a-z]+$")] | None = None
    """Type of the boot disk. Default: `hyperdisk-balanced` if the machine supports no other,
    `pd-ssd` on A3, else `pd-balanced`."""
    kms_key: (
        Annotated[
            str,
            StringConstraints(
                pattern=r"^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$"
            ),
        ]
        | None
    ) = None
    """Key of Cloud KMS that encrypts the boot disk, `projects/P/locations/L/keyRings/R/
    cryptoKeys/K`. Default: Google's. A change creates a new node pool."""
    maintenance_interval: Literal["periodic", "asNeeded"] | None = None
    """How often Google maintains the hosts: `periodic` collects updates and announces them,
    `asNeeded` makes each immediately. Default: the machine type's. A change creates a new node
    pool."""
    local_ssds: int | None = Field(default=None, ge=0, le=48)
    """Local SSDs of each node, 0 to 48. Default: those of the machine type."""
    local_ssd_use: LocalSsdUse = LocalSsdUse.EPHEMERAL
    """Default ephemeral."""
    image_cache: str | None = Field(default=None, min_length=1, max_length=300)
    """Disk image that contains container images (`projects/P/global/images/I`), attached as a
    second boot disk; turns image streaming on. Default: none."""
    image_streaming: bool | None = None
    """Start containers before their image is complete. Default: only with `imageCache`."""
    fast_socket: bool = False
    """NCCL Fast Socket, for several nodes without GPUDirect. Default false."""
    gpu_direct_plugin: (
        Annotated[str, StringConstraints(pattern=r"^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9]+)?$")] | None
    ) = None
    """With `fabric`: version of Google's plugin of NCCL, `v1.0.15`, with the daemon of the same
    release. Pods of one job need one version, so change it while none runs. Default: the version
    in docs/gke-gpu-node-pool.md, which is fixed."""
    secure_boot: bool | None = None
    """Only signed kernel modules are loaded. Default true with GKE's driver on Container-Optimized
    OS, else false: other drivers are not signed."""
    confidential: bool = False
    """Nodes are Confidential VMs, and their GPU encrypts its data. Default false. A change creates
    a new node pool."""
    max_pods: int | None = Field(default=None, ge=8, le=256)
    """Pods of each node, 8 to 256. Default: the cluster's. A change creates a new node pool."""
    tpu_topology: Annotated[str, StringConstraints(pattern=r"^[0-9]+x[0-9]+(x[0-9]+)?$")] | None = (
        None
    )
    """TPU pools: chips of the slice, `2x4` or `4x4x4`. Default: those of one host."""
    imported: Literal["adopt", "manage"] = "adopt"
    """With `importId`: `adopt` (default) imports the node pool and changes nothing; `manage`, in a
    later update, applies limits, labels, taints, resource labels, repair and upgrade settings of
    the pool. Everything else stays unchanged in both."""
    node_pool: Raw = Field(default_factory=dict[str, Any])
    """Raw arguments of the node pool in the spelling of `gcp:container/nodePool`, merged last.
    Lists are replaced."""


class GkeSystemNodes(SpecModel):
    """The node pool on which controllers run."""

    machine_type: str = "e2-standard-4"
    """Machine type. Default e2-standard-4."""
    nodes_per_zone: int = Field(default=1, ge=1)
    """Number of nodes in each zone, at least 1. Default 1."""
    disk_gib: int = Field(default=50, ge=12)
    """Boot disk, pd-balanced. Default 50."""


class DeclaredGkeCluster(SpecModel):
    """Inputs of `GkeCluster`."""

    project: Annotated[
        str, StringConstraints(pattern=r"^([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$")
    ]
    """Google Cloud project, with a billing account."""
    cluster_name: Annotated[str, StringConstraints(pattern=CLUSTER_NAME, max_length=LONGEST_NAME)]
    """Name of the cluster, unique in project and region."""
    region: str
    """Region of the control plane, `us-central1`."""
    zones: tuple[str, ...] = ()
    """Zones of system nodes; GPU pools have their own. Default: three, chosen by GKE."""
    kubernetes_version: KubernetesVersion = DEFAULT_KUBERNETES_VERSION
    """Minimum minor version, `"1.36"`. Default: 1.36."""
    release_channel: str = "REGULAR"
    """`RAPID`, `REGULAR`, `STABLE` or `EXTENDED`. Default REGULAR."""
    cidr: str = "10.0.0.0/20"
    """IPv4 range of nodes. Default 10.0.0.0/20."""
    pods_cidr: str = "10.4.0.0/14"
    """IPv4 range of pods: each node uses a /24. Default 10.4.0.0/14."""
    services_cidr: str = "10.8.0.0/20"
    """IPv4 range of services. Default 10.8.0.0/20."""
    public_access_cidrs: tuple[str, ...] = ()
    """Addresses that may reach the control plane from the Internet. Default: none, only the network
    reaches it, and a program that installs charts must run there."""
    multi_networking: bool = False
    """Allow additional interfaces of pods, as `fabric: tcpx`, `tcpxo` and `rdma` need; it cannot be
    changed later. Default false."""
    gcs_fuse: bool = False
    """The driver with which pods mount buckets of Cloud Storage. Default false."""
    system_nodes: GkeSystemNodes = GkeSystemNodes()
    """The nodes of controllers. Default: an e2-standard-4 in each zone."""
    enable_services: bool = True
    """Enable the APIs of Compute Engine and GKE, which are off in a new project; they stay enabled.
    Default true."""
    deletion_protection: bool = False
    """The provider refuses to delete the cluster until this is false again. Default false."""
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Resource labels. Default: none."""
