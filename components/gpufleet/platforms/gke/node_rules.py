"""Findings about what is on a GKE node: disks, network interfaces, driver.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`) and the pages of Google Kubernetes Engine read 2026-11-21.
"""

from collections.abc import Iterable, Mapping

from gpufleet.catalogue import InstanceType
from gpufleet.findings import Finding, error, info, warning
from gpufleet.fleet.autoscaler_rules import WHOLE_GPU, has_whole_gpus
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_machines import ASSUMED_BOOT_DISKS, boot_disks
from gpufleet.platforms.gke.driver_installers import needs_installer
from gpufleet.platforms.gke.facts import fabric_of
from gpufleet.platforms.gke.shape import (
    GkeShape,
    bundled_ssds,
    raw_ssds,
)
from gpufleet.platforms.gke.tpu import is_tpu
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric

NETWORK_PROFILE_FAMILIES = frozenset({"a3", "a4", "a4x", "ct6e", "tpu7x"})
"""Machine families that `acceleratorNetworkProfile: auto` serves (cluster-toolkit 1047080)."""
NETWORK_PROFILE_SINCE = "1.34"
"""First Kubernetes minor with it: GKE 1.34.1-gke.1829001."""

METAL_PREFIX = "a4x-maxgpu-"
"""Bare metal. Its RDMA network has the profile `<zone>-vpc-roce-metal`, one subnet that Google
makes, and eight interfaces; the other two are IDPF, in subnets of IPv6 (Compute Engine, create an
A4X Max instance; cluster-toolkit `modules/network/gpu-rdma-vpc/variables.tf`). Pods claim the
interfaces by DRA (container-engine-accelerators 013b7ea `gpudirect-rdma/nccl-test-a4x-max.yaml`).
Read 2026-11-23."""

SSD_COUNTS: Mapping[str, tuple[int, ...]] = {
    "a2-highgpu-1g": (1, 2, 4, 8),
    "a2-highgpu-2g": (2, 4, 8),
    "a2-highgpu-4g": (4, 8),
    **dict.fromkeys(("a2-highgpu-8g", "a2-megagpu-16g"), (8,)),
    **{f"g2-standard-{cpus}": (1,) for cpus in (4, 8, 12, 16, 32)},
    **{f"g2-standard-{cpus}": (cpus // 12,) for cpus in (24, 48, 96)},
    "g4-standard-6": (),
    **{f"g4-standard-{cpus}": (cpus // 12,) for cpus in (12, 24, 48, 96, 192, 384)},
}
"""Machine -> numbers of local SSDs that may be added; every other brings a fixed number or none
(k8s.io/gke-autoscaling `machinetypes`, withAllowedEphemeralLocalSsdCounts; read 2026-11-23)."""
N1_SSD_COUNTS = (*range(1, 9), 16, 24)
"""The same of every N1 machine with attached GPUs."""

_MIN_DISK_WITH_IMAGES = 100
_AUTOMATIC = "`gke: {acceleratorNetworkProfile: auto}`"


def validate_node(
    pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec
) -> Iterable[Finding]:
    """Disks, networks and driver of one pool's nodes."""
    yield from _disks(pool, shape, row)
    yield from _networks(pool, shape, row, spec)
    yield from _driver(pool, shape)
    yield from _autoscaled(pool, shape)


def _disks(pool: Pool, shape: GkeShape, row: InstanceType) -> Iterable[Finding]:
    options = shape.options
    bundled = bundled_ssds(row)
    free = N1_SSD_COUNTS if row.attachable else SSD_COUNTS.get(row.name)
    if free is not None and options.local_ssds and options.local_ssds not in free:
        counts = ", ".join(map(str, free))
        yield error(
            "gke-local-ssd-count",
            f"{pool.path}.gke.localSsds",
            f"{shape.machine_type} takes {counts or 'no'} local SSDs, and {options.local_ssds} are "
            "declared",
            f"write one of {counts}, or leave localSsds out" if free else "leave localSsds out",
            found=options.local_ssds,
            limit=list(free),
        )
    known = row.local_nvme_bytes is not None and free is None
    if known and options.local_ssds not in (None, bundled):
        yield error(
            "gke-local-ssd-count",
            f"{pool.path}.gke.localSsds",
            f"{row.name} has {bundled} local SSDs, no more and no fewer, and {options.local_ssds} "
            "are declared",
            "leave localSsds out",
            found=options.local_ssds,
            limit=bundled,
        )
    if raw_ssds(options) and shape.local_ssds == 0:
        yield error(
            "gke-raw-ssd-without-ssd",
            f"{pool.path}.gke.localSsdUse",
            f"{row.name} brings no local SSD that could be a block device",
            f"write `localSsds: {free[0]}`, or remove localSsdUse"
            if free
            else "remove localSsdUse",
        )
    taken = boot_disks(row)
    if row.family in ASSUMED_BOOT_DISKS:
        if options.disk_type is None:
            yield info(
                "gke-disk-type-assumed",
                f"{pool.path}.gke.diskType",
                f"{row.name} is taken to boot from {shape.disk_type}, as the generation before "
                "does: no source names its disks",
                "write `diskType` where you know better",
                found=shape.disk_type,
            )
    elif taken and shape.disk_type not in taken:
        yield error(
            "gke-disk-type",
            f"{pool.path}.gke.diskType",
            f"{row.name} boots from {', '.join(taken)} alone, and {shape.disk_type} is declared",
            "leave diskType out",
            found=shape.disk_type,
            allowed=list(taken),
        )
    if pool.spec.disk.size_gib < _MIN_DISK_WITH_IMAGES and shape.local_ssds == 0:
        yield warning(
            "disk-small-for-cuda",
            f"{pool.path}.disk.sizeGib",
            f"{pool.spec.disk.size_gib} GiB hold system and images; two CUDA images fill them",
            f"write {_MIN_DISK_WITH_IMAGES} or more",
            found=pool.spec.disk.size_gib,
            limit=_MIN_DISK_WITH_IMAGES,
        )


def _networks(pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec) -> Iterable[Finding]:
    place = f"{pool.path}.gke.acceleratorNetworkProfile"
    if shape.automatic_networks:
        if row.family not in NETWORK_PROFILE_FAMILIES:
            yield error(
                "gke-network-profile-machine",
                place,
                f"`auto` makes networks for {', '.join(sorted(NETWORK_PROFILE_FAMILIES))} only, "
                f"and the machine is {row.name}",
                "remove acceleratorNetworkProfile",
                found=row.name,
            )
        if minor_of(spec.cluster.kubernetes_version) < minor_of(NETWORK_PROFILE_SINCE):
            yield error(
                "gke-network-profile-version",
                place,
                f"`auto` needs GKE 1.34.1-gke.1829001 or newer, and the cluster is "
                f"{spec.cluster.kubernetes_version}",
                "remove it and give the connection's networks, or upgrade the cluster",
                found=spec.cluster.kubernetes_version,
                limit=NETWORK_PROFILE_SINCE,
            )
        if pool.fabric is Fabric.NONE and row.gpudirect is not None:
            yield warning(
                "gke-network-profile-without-fabric",
                place,
                "networks for GPUDirect are created, but `fabric` says that they are not used",
                f"write `fabric: {fabric_of(row)}`",
            )
    metal = row.name.startswith(METAL_PREFIX)
    if metal and shape.networks:
        yield error(
            "gke-metal-networks",
            f"{pool.path}.fabric",
            f"{row.name} is bare metal: its eight RDMA interfaces are in one subnet that Google "
            "makes in a network of the profile vpc-roce-metal, and pods claim them by DRA. "
            "gpufleet makes the networks and pods of virtual machines",
            f"write {_AUTOMATIC}, by which GKE makes the networks",
            found=pool.fabric.value,
        )
    plain = pool.fabric is Fabric.NONE and pool.nodes.maximum > 1
    if plain and row.gpudirect is not None and pool.intent.value == "training":
        yield warning(
            "gke-training-without-gpudirect",
            f"{pool.path}.fabric",
            f"{row.name} has {row.gpudirect} with {row.network_gbps} Gbit/s, and jobs over several "
            "nodes would use its first interface alone",
            f"write `fabric: {fabric_of(row)}`" + (f" and {_AUTOMATIC}" if metal else ""),
        )
    if shape.options.fast_socket and pool.fabric is not Fabric.NONE:
        yield error(
            "gke-fast-socket-with-gpudirect",
            f"{pool.path}.gke.fastSocket",
            f"Fast Socket speeds NCCL over TCP up, and {pool.fabric.value} does not use TCP",
            "remove fastSocket",
        )


def _driver(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    options = shape.options
    if shape.operator and not needs_installer(pool) and options.driver_version != "default":
        yield error(
            "gke-driver-version-of-operator",
            f"{pool.path}.gke.driverVersion",
            "the GPU Operator installs the driver of the pool, in the version of its own settings",
            "remove driverVersion; `addons.gpuOperator.driver.version` is the operator's",
            found=options.driver_version,
        )
    unsigned = shape.operator or shape.image_type != "COS_CONTAINERD"
    if options.secure_boot and unsigned:
        yield error(
            "gke-secure-boot-unsigned-driver",
            f"{pool.path}.gke.secureBoot",
            "the kernel modules of this driver are not signed: with secure boot they do not load, "
            "and no GPU is ever advertised",
            "write `secureBoot: false`, or use GKE's driver on `image: cos`",
        )
    streamed = options.image_streaming or options.image_cache is not None
    if streamed and shape.image_type != "COS_CONTAINERD":
        asked = "imageCache" if options.image_cache is not None else "imageStreaming"
        yield error(
            "gke-image-streaming-needs-cos",
            f"{pool.path}.gke.{asked}",
            f"image streaming needs Container-Optimized OS, and the image is {shape.image_type}",
            f"remove {asked}, or write `image: cos`",
            found=shape.image_type,
            source="https://docs.cloud.google.com/kubernetes-engine/docs/how-to/image-streaming",
        )
    if options.tpu_topology is not None and not is_tpu(pool):
        yield error(
            "gke-tpu-topology-without-tpu",
            f"{pool.path}.gke.tpuTopology",
            f"{pool.gpu.key} is not a TPU",
            "remove tpuTopology",
        )


def _autoscaled(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """GKE's autoscaler plans with `nvidia.com/gpu` where the GPU Operator gives other names.

    Sources are the public code it is built on (kubernetes/autoscaler 00fcc0d
    `cloudprovider/gce/templates.go`, 1447925 `processors/customresources/gpu_processor.go`).
    """
    renamed = sorted(set(pool.advertised) - {WHOLE_GPU})
    fixed = pool.nodes.minimum == pool.nodes.maximum
    if not shape.operator or fixed or not renamed or pool.spec.sharing.dra is not None:
        return
    fix = "write `rename: false` (shares) or `strategy: single` (slices), or use GKE's own sharing"
    if pool.nodes.minimum == 0:
        yield warning(
            "gke-scale-from-zero",
            f"{pool.path}.nodes.min",
            f"{pool.name} may be empty, and of an empty node pool the autoscaler knows {WHOLE_GPU} "
            f"alone: pods that ask for {', '.join(renamed)} would start no node",
            fix if shape.fallback_order else f"write `min: 1`; or {fix}",
            found=0,
            resources=renamed,
        )
    if not has_whole_gpus(pool):
        yield warning(
            "gke-autoscaler-sees-unready",
            f"{pool.path}.sharing",
            f"nodes of {pool.name} advertise no {WHOLE_GPU}, and the autoscaler takes a GPU node "
            "without it for one that is not ready: it may not remove idle nodes, and may stop "
            "scaling when there are many",
            f"{fix}; or write the same `min` and `max`",
            resources=renamed,
        )
