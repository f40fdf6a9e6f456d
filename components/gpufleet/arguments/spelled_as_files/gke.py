"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.platforms.gke`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
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


class GkeUpgradeDict(TypedDict):
    """How a node pool is upgraded."""

    strategy: NotRequired[UpgradeStrategyWord]
    """One of `surge`, `blueGreen`, `shortLived`. Default surge; shortLived for flex start and
    queued capacity."""
    maxSurge: NotRequired[int]
    """Nodes added during an upgrade, 0 to 20. Default 0: spare GPUs are rarely available."""
    maxUnavailable: NotRequired[int]
    """Nodes that may be missing during an upgrade, 0 to 20. Default 1."""


class GkeOptionsDict(TypedDict):
    """Settings for GKE only."""

    driver: NotRequired[GkeOptionsDriverWord]
    """One of `gke`, `gpuOperator`. Program that installs driver and device plugin: GKE (default)
    or the GPU Operator."""
    driverVersion: NotRequired[GkeOptionsDriverVersionWord]
    """One of `default`, `latest`. With `driver: gke`, and on Container-Optimized OS: the version
    that GKE recommends for the release, or its newest. Default default. A change creates a new
    node pool with `driver: gke`; with `gpuOperator`, nodes get it at their next start."""
    acceleratorNetworkProfile: NotRequired[GkeOptionsAcceleratorNetworkProfileWord]
    """Only `auto`. `auto`: GKE creates the networks of a GPU machine. Default: the connection's
    networks."""
    compactPlacement: NotRequired[bool]
    """Nodes close together, in one zone. Default false."""
    openReservations: NotRequired[bool]
    """On-demand nodes use matching reservations of the project that are open to all. Default
    false: they do not."""
    limits: NotRequired[GkeOptionsLimitsWord]
    """One of `total`, `perZone`. Whether `nodes` counts all zones together or each zone. Default
    total."""
    locationPolicy: NotRequired[GkeOptionsLocationPolicyWord]
    """One of `any`, `balanced`. `any` uses any zone with GPUs, `balanced` keeps zones even.
    Default any."""
    upgrade: NotRequired[GkeUpgradeDict]
    """How nodes are upgraded. Default: one node at a time, without spare GPUs."""
    autoUpgrade: NotRequired[bool]
    """Whether GKE upgrades nodes with the cluster. Default true; a cluster in a release channel
    refuses false."""
    autoRepair: NotRequired[bool]
    """Whether GKE replaces broken nodes. Default true; false for flex start and queued capacity,
    where GKE refuses it."""
    diskType: NotRequired[str]
    """Type of the boot disk. Default: `hyperdisk-balanced` if the machine supports no other,
    `pd-ssd` on A3, else `pd-balanced`."""
    kmsKey: NotRequired[str]
    """Key of Cloud KMS that encrypts the boot disk, `projects/P/locations/L/keyRings/R/
    cryptoKeys/K`. Default: Google's. A change creates a new node pool."""
    maintenanceInterval: NotRequired[GkeOptionsMaintenanceIntervalWord]
    """One of `periodic`, `asNeeded`. How often Google maintains the hosts: `periodic` collects
    updates and announces them, `asNeeded` makes each immediately. Default: the machine type's. A
    change creates a new node pool."""
    localSsds: NotRequired[int]
    """Local SSDs of each node, 0 to 48. Default: those of the machine type."""
    localSsdUse: NotRequired[LocalSsdUseWord]
    """One of `ephemeral`, `raw`. Default ephemeral."""
    imageCache: NotRequired[str]
    """Disk image that contains container images (`projects/P/global/images/I`), attached as a
    second boot disk; turns image streaming on. Default: none."""
    imageStreaming: NotRequired[bool]
    """Start containers before their image is complete. Default: only with `imageCache`."""
    fastSocket: NotRequired[bool]
    """NCCL Fast Socket, for several nodes without GPUDirect. Default false."""
    gpuDirectPlugin: NotRequired[str]
    """With `fabric`: version of Google's plugin of NCCL, `v1.0.15`, with the daemon of the same
    release. Pods of one job need one version, so change it while none runs. Default: the version
    in docs/gke-gpu-node-pool.md, which is fixed."""
    secureBoot: NotRequired[bool]
    """Only signed kernel modules are loaded. Default true with GKE's driver on
    Container-Optimized OS, else false: other drivers are not signed."""
    confidential: NotRequired[bool]
    """Nodes are Confidential VMs, and their GPU encrypts its data. Default false. A change
    creates a new node pool."""
    maxPods: NotRequired[int]
    """Pods of each node, 8 to 256. Default: the cluster's. A change creates a new node pool."""
    tpuTopology: NotRequired[str]
    """TPU pools: chips of the slice, `2x4` or `4x4x4`. Default: those of one host."""
    imported: NotRequired[GkeOptionsImportedWord]
    """One of `adopt`, `manage`. With `importId`: `adopt` (default) imports the node pool and
    changes nothing; `manage`, in a later update, applies limits, labels, taints, resource labels,
    repair and upgrade settings of the pool. Everything else stays unchanged in both."""
    nodePool: NotRequired[Mapping[str, Any]]
    """Raw arguments of the node pool in the spelling of `gcp:container/nodePool`, merged last.
    Lists are replaced."""
