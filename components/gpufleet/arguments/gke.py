"""Inputs of components: what restates `gpufleet.spec.platforms.gke`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.words import (
    GkeOptionsAcceleratorNetworkProfileWord,
    GkeOptionsDriverVersionWord,
    GkeOptionsDriverWord,
    GkeOptionsImportedWord,
    GkeOptionsLimitsWord,
    GkeOptionsLocationPolicyWord,
    GkeOptionsMaintenanceIntervalWord,
    LocalSsdUseWord,
    UpgradeStrategyWord,
)


class GkeUpgradeArgs(TypedDict):
    """How a node pool is upgraded."""

    strategy: NotRequired[UpgradeStrategyWord]
    """One of `surge`, `blueGreen`, `shortLived`. Default surge; shortLived for flex start and
    queued capacity."""
    max_surge: NotRequired[int]
    """Nodes added during an upgrade, 0 to 20. Default 0: spare GPUs are rarely available."""
    max_unavailable: NotRequired[int]
    """Nodes that may be missing during an upgrade, 0 to 20. Default 1."""


class GkeOptionsArgs(TypedDict):
    """Settings for GKE only."""

    driver: NotRequired[GkeOptionsDriverWord]
    """One of `gke`, `gpuOperator`. Program that installs driver and device plugin: GKE (default)
    or the GPU Operator."""
    driver_version: NotRequired[GkeOptionsDriverVersionWord]
    """One of `default`, `latest`. With `driver: gke`, and on Container-Optimized OS: the version
    that GKE recommends for the release, or its newest. Default default. A change creates a new
    node pool with `driver: gke`; with `gpuOperator`, nodes get it at their next start."""
    accelerator_network_profile: NotRequired[GkeOptionsAcceleratorNetworkProfileWord]
    """Only `auto`. `auto`: GKE creates the networks of a GPU machine. Default: the connection's
    networks."""
    compact_placement: NotRequired[bool]
    """Nodes close together, in one zone. Default false."""
    open_reservations: NotRequired[bool]
    """On-demand nodes use matching reservations of the project that are open to all. Default
    false: they do not."""
    limits: NotRequired[GkeOptionsLimitsWord]
    """One of `total`, `perZone`. Whether `nodes` counts all zones together or each zone. Default
    total."""
    location_policy: NotRequired[GkeOptionsLocationPolicyWord]
    """One of `any`, `balanced`. `any` uses any zone with GPUs, `balanced` keeps zones even.
    Default any."""
    upgrade: NotRequired[GkeUpgradeArgs]
    """How nodes are upgraded. Default: one node at a time, without spare GPUs."""
    auto_upgrade: NotRequired[bool]
    """Whether GKE upgrades nodes with the cluster. Default true; a cluster in a release channel
    refuses false."""
    auto_repair: NotRequired[bool]
    """Whether GKE replaces broken nodes. Default true; false for flex start and queued capacity,
    where GKE refuses it."""
    disk_type: NotRequired[str]
    """Type of the boot disk. Default: `hyperdisk-balanced` if the machine supports no other,
    `pd-ssd` on A3, else `pd-balanced`."""
    kms_key: NotRequired[str]
    """Key of Cloud KMS that encrypts the boot disk, `projects/P/locations/L/keyRings/R/
    cryptoKeys/K`. Default: Google's. A change creates a new node pool."""
    maintenance_interval: NotRequired[GkeOptionsMaintenanceIntervalWord]
    """One of `periodic`, `asNeeded`. How often Google maintains the hosts: `periodic` collects
    updates and announces them, `asNeeded` makes each immediately. Default: the machine type's. A
    change creates a new node pool."""
    local_ssds: NotRequired[int]
    """Local SSDs of each node, 0 to 48. Default: those of the machine type."""
    local_ssd_use: NotRequired[LocalSsdUseWord]
    """One of `ephemeral`, `raw`. Default ephemeral."""
    image_cache: NotRequired[str]
    """Disk image that contains container images (`projects/P/global/images/I`), attached as a
    second boot disk; turns image streaming on. Default: none."""
    image_streaming: NotRequired[bool]
    """Start containers before their image is complete. Default: only with `imageCache`."""
    fast_socket: NotRequired[bool]
    """NCCL Fast Socket, for several nodes without GPUDirect. Default false."""
    gpu_direct_plugin: NotRequired[str]
    """With `fabric`: version of Google's plugin of NCCL, `v1.0.15`, with the daemon of the same
    release. Pods of one job need one version, so change it while none runs. Default: the version
    in docs/gke-gpu-node-pool.md, which is fixed."""
    secure_boot: NotRequired[bool]
    """Only signed kernel modules are loaded. Default true with GKE's driver on
    Container-Optimized OS, else false: other drivers are not signed."""
    confidential: NotRequired[bool]
    """Nodes are Confidential VMs, and their GPU encrypts its data. Default false. A change
    creates a new node pool."""
    max_pods: NotRequired[int]
    """Pods of each node, 8 to 256. Default: the cluster's. A change creates a new node pool."""
    tpu_topology: NotRequired[str]
    """TPU pools: chips of the slice, `2x4` or `4x4x4`. Default: those of one host."""
    imported: NotRequired[GkeOptionsImportedWord]
    """One of `adopt`, `manage`. With `importId`: `adopt` (default) imports the node pool and
    changes nothing; `manage`, in a later update, applies limits, labels, taints, resource labels,
    repair and upgrade settings of the pool. Everything else stays unchanged in both."""
    node_pool: NotRequired[dict[str, Any]]
    """Raw arguments of the node pool in the spelling of `gcp:container/nodePool`, merged last.
    Lists are replaced."""


class GkeSystemNodesArgs(TypedDict):
    """The node pool on which controllers run."""

    machine_type: NotRequired[str]
    """Machine type. Default e2-standard-4."""
    nodes_per_zone: NotRequired[int]
    """Number of nodes in each zone, at least 1. Default 1."""
    disk_gib: NotRequired[int]
    """Boot disk, pd-balanced. Default 50."""


class GkeClusterArgs(TypedDict):
    """Inputs of `GkeCluster`."""

    project: str
    """Google Cloud project, with a billing account."""
    cluster_name: str
    """Name of the cluster, unique in project and region."""
    region: str
    """Region of the control plane, `us-central1`."""
    zones: NotRequired[list[str]]
    """Zones of system nodes; GPU pools have their own. Default: three, chosen by GKE."""
    kubernetes_version: NotRequired[str]
    """Minimum minor version, `"1.36"`. Default: 1.36."""
    release_channel: NotRequired[str]
    """`RAPID`, `REGULAR`, `STABLE` or `EXTENDED`. Default REGULAR."""
    cidr: NotRequired[str]
    """IPv4 range of nodes. Default 10.0.0.0/20."""
    pods_cidr: NotRequired[str]
    """IPv4 range of pods: each node uses a /24. Default 10.4.0.0/14."""
    services_cidr: NotRequired[str]
    """IPv4 range of services. Default 10.8.0.0/20."""
    public_access_cidrs: NotRequired[list[str]]
    """Addresses that may reach the control plane from the Internet. Default: none, only the
    network reaches it, and a program that installs charts must run there."""
    multi_networking: NotRequired[bool]
    """Allow additional interfaces of pods, as `fabric: tcpx`, `tcpxo` and `rdma` need; it cannot
    be changed later. Default false."""
    gcs_fuse: NotRequired[bool]
    """The driver with which pods mount buckets of Cloud Storage. Default false."""
    system_nodes: NotRequired[GkeSystemNodesArgs]
    """The nodes of controllers. Default: an e2-standard-4 in each zone."""
    enable_services: NotRequired[bool]
    """Enable the APIs of Compute Engine and GKE, which are off in a new project; they stay
    enabled. Default true."""
    deletion_protection: NotRequired[bool]
    """The provider refuses to delete the cluster until this is false again. Default false."""
    tags: NotRequired[dict[str, str]]
    """Resource labels. Default: none."""
