"""Findings about parts of a GKE node: disks, network interfaces, driver.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`) and the pages of Google Kubernetes Engine read 2026-11-21.
"""

from collections.abc import Iterable

from gpufleet.catalogue import InstanceType, load
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.autoscaler_rules import WHOLE_GPU, has_whole_gpus
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_machines import ASSUMED_BOOT_DISKS, boot_disks
from gpufleet.platforms.gke.daemon_sets import needs_installer
from gpufleet.platforms.gke.facts import fabric_of
from gpufleet.platforms.gke.shape import (
    GkeShape,
    bundled_ssds,
    raw_ssds,
)
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric

_finding, _rules = findings_in(__file__), rules_in(__file__)

NETWORK_PROFILE_SINCE = "1.34"
"""First Kubernetes minor with `acceleratorNetworkProfile: auto`: GKE 1.34.1-gke.1829001."""

METAL_PREFIX = "a4x-maxgpu-"
"""Bare metal. Its RDMA network has the profile `<zone>-vpc-roce-metal`, one subnet that Google
creates, and eight interfaces; the other two are IDPF, in subnets of IPv6 (Compute Engine, create an
A4X Max instance; cluster-toolkit `modules/network/gpu-rdma-vpc/variables.tf`). Pods claim the
interfaces by DRA (container-engine-accelerators 013b7ea `gpudirect-rdma/nccl-test-a4x-max.yaml`).
Read 2026-11-23."""

N1_SSD_COUNTS = (*range(1, 9), 16, 24)
"""Numbers of local SSDs that may be added to every N1 machine with attached GPUs
(k8s.io/gke-autoscaling `machinetypes`, withAllowedEphemeralLocalSsdCounts; read 2026-11-23)."""

_AUTOMATIC = "`gke: {acceleratorNetworkProfile: auto}`"


def validate_node(
    pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec
) -> Iterable[Finding]:
    """Disks, networks and image of one pool's nodes, and the rules of pools that fields show."""
    yield from _disks(pool, shape, row)
    yield from _networks(pool, shape, row, spec)
    yield from _streaming(pool, shape)
    yield from _autoscaled(pool, shape)
    if shape.options.confidential and row.confidential is None:
        able = [one.name for one in load().instances.values() if one.confidential]
        yield _finding("gke-confidential-machine", pool.path, found=row.name, allowed=able)
    installer = needs_installer(pool)
    yield from _rules(
        "pool", pool.path, pool=pool, shape=shape, row=row, spec=spec, installer=installer
    )


def _disks(pool: Pool, shape: GkeShape, row: InstanceType) -> Iterable[Finding]:
    options = shape.options
    free = N1_SSD_COUNTS if row.attachable else row.local_ssd_counts
    if free is not None and options.local_ssds and options.local_ssds not in free:
        counts = ", ".join(map(str, free))
        yield _finding(
            "gke-local-ssd-count",
            pool.path,
            fix=(
                f"write one of {counts}, or leave localSsds out" if free else "leave localSsds out"
            ),
            machine_type=shape.machine_type,
            counts=counts or "no",
            found=options.local_ssds,
            limit=free,
        )
    if raw_ssds(options) and shape.local_ssds == 0:
        yield _finding(
            "gke-raw-ssd-without-ssd",
            pool.path,
            fix=(
                f"write `localSsds: {free[0]}`, or remove localSsdUse"
                if free
                else "remove localSsdUse"
            ),
            machine=row.name,
        )
    known = {"shape": shape, "row": row, "free": free, "bundled": bundled_ssds(row)}
    assumed = row.family in ASSUMED_BOOT_DISKS
    yield from _rules("disks", pool.path, taken=boot_disks(row), assumed=assumed, **known)


def _networks(pool: Pool, shape: GkeShape, row: InstanceType, spec: FleetSpec) -> Iterable[Finding]:
    place = f"{pool.path}.gke.acceleratorNetworkProfile"
    if shape.automatic_networks:
        if minor_of(spec.cluster.kubernetes_version) < minor_of(NETWORK_PROFILE_SINCE):
            yield _finding(
                "gke-network-profile-version",
                place,
                found=spec.cluster.kubernetes_version,
                limit=NETWORK_PROFILE_SINCE,
            )
        if pool.fabric is Fabric.NONE and row.gpudirect is not None:
            yield _finding("gke-network-profile-without-fabric", place, fabric=fabric_of(row))
    metal = row.name.startswith(METAL_PREFIX)
    if metal and shape.networks:
        yield _finding("gke-metal-networks", pool.path, machine=row.name, found=pool.fabric.value)
    plain = pool.fabric is Fabric.NONE and pool.nodes.maximum > 1
    if plain and row.gpudirect is not None and pool.intent.value == "training":
        yield _finding(
            "gke-training-without-gpudirect",
            pool.path,
            fix=f"write `fabric: {fabric_of(row)}`" + (f" and {_AUTOMATIC}" if metal else ""),
            machine=row.name,
            gpudirect=row.gpudirect,
            network_gbps=row.network_gbps,
        )


def _streaming(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    options = shape.options
    streamed = options.image_streaming or options.image_cache is not None
    if streamed and shape.image_type != "COS_CONTAINERD":
        asked = "imageCache" if options.image_cache is not None else "imageStreaming"
        yield _finding(
            "gke-image-streaming-needs-cos",
            f"{pool.path}.gke.{asked}",
            found=shape.image_type,
            asked=asked,
        )


def _autoscaled(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """GKE's autoscaler plans with `nvidia.com/gpu` even if the GPU Operator uses other names.

    Sources are the public code it is built on (kubernetes/autoscaler 00fcc0d
    `cloudprovider/gce/templates.go`, 1447925 `processors/customresources/gpu_processor.go`).
    """
    renamed = sorted(set(pool.advertised) - {WHOLE_GPU})
    fixed = pool.nodes.minimum == pool.nodes.maximum
    if not shape.operator or fixed or not renamed or pool.spec.sharing.dra is not None:
        return
    fix = "write `rename: false` (shares) or `strategy: single` (slices), or use GKE's own sharing"
    if pool.nodes.minimum == 0:
        yield _finding(
            "gke-scale-from-zero",
            pool.path,
            fix=(fix if shape.fallback_order else f"write `min: 1`; or {fix}"),
            pool=pool.name,
            whole_gpu=WHOLE_GPU,
            resources=renamed,
            found=0,
        )
    if not has_whole_gpus(pool):
        yield _finding(
            "gke-autoscaler-sees-unready",
            pool.path,
            pool=pool.name,
            whole_gpu=WHOLE_GPU,
            instead=fix,
            resources=renamed,
        )
