"""Findings about pools on GKE: purchase options that exclude each other, placement, disks, NICs.

Sources: preconditions of Google's own module (GoogleCloudPlatform/cluster-toolkit 1047080
`modules/compute/gke-node-pool/main.tf`), the discovery document container.v1 of 2026-10-27, and the
pages of Google Kubernetes Engine read 2026-11-21.
"""

import re
from collections.abc import Iterable, Sequence

from gpufleet.catalogue.model import InstanceType
from gpufleet.contract.dra import GKE_ROOT, OPERATOR_ROOT, driver_root
from gpufleet.contract.gke_sharing import served_by_gke
from gpufleet.findings import Finding, error, info, warning
from gpufleet.fleet.gke_shape import (
    GkeShape,
    bundled_ssds,
    gke_shape,
    host_machine,
    raw_ssds,
    upgrade_strategy,
)
from gpufleet.fleet.model import Pool
from gpufleet.fleet.tpu import is_tpu, judge_tpu
from gpufleet.spec.base import Ownership, Platform
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gke import UpgradeStrategy
from gpufleet.spec.pool import Fabric

WIRED = ("cluster", "initialNodeCount", "location", "name", "namePrefix", "nodeCount", "project")
"""Raw arguments that are refused: components wire them, or identity hangs on them."""

NETWORK_PROFILE_FAMILIES = frozenset({"a3", "a4", "a4x", "ct6e", "tpu7x"})
"""Machine families that `acceleratorNetworkProfile: auto` serves (cluster-toolkit 1047080)."""
NETWORK_PROFILE_SINCE = "1.34"
"""First Kubernetes minor with it: GKE 1.34.1-gke.1829001."""

COMPACT_WITH_FLEX_START = ("a3-ultragpu-", "a4-", "h4d-")
"""Machine types that may be placed compactly with flex start (cluster-toolkit 1047080)."""

FREE_SSD_FAMILIES = frozenset({"a2-highgpu", "g2-standard", "n1-standard"})
"""Machine series whose number of local SSDs is free; every other brings a fixed number or none."""

_ZONE = re.compile(r"^[a-z]+-[a-z]+[0-9]+-[a-z]$")
_RESERVATION = re.compile(
    r"^(projects/[a-z][-a-z0-9:.]*[a-z0-9]/reservations/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
)
_MIN_DISK_WITH_IMAGES = 100


def judge_gke(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """Everything of this kind about the pools that gpufleet makes."""
    if spec.platform is not Platform.GKE:
        return []
    findings: list[Finding] = [*_operated(pools)]
    for pool in pools:
        row = pool.machines[0].instance
        if pool.ownership is Ownership.EXISTING or row is None:
            continue
        shape = gke_shape(pool)
        findings += [
            *_machines(pool, row),
            *_zones(pool, shape, spec),
            *_reservations(pool),
            *_placement(pool, shape),
            *_operations(pool, shape),
            *_disks(pool, shape, row),
            *_networks(pool, shape, row, spec),
            *_driver(pool, shape),
            *_ladder(pool, shape),
            *judge_tpu(pool),
            *_raw(pool, shape),
        ]
    return findings


def _machines(pool: Pool, row: InstanceType) -> Iterable[Finding]:
    if len(pool.machines) > 1:
        names = [machine.name for machine in pool.machines]
        yield error(
            "gke-one-machine-type",
            f"{pool.path}.instanceTypes",
            f"a GKE node pool has one machine type, and {len(names)} are listed",
            f"write instanceTypes: [{names[0]}], and a pool for each other",
            found=names,
        )
    host = host_machine(pool)
    place = f"{pool.path}.instanceTypes"
    if row.attachable and host is None:
        yield error(
            "gke-host-missing",
            place,
            f"{pool.gpu.key} is attached to an N1 machine, and none is named",
            f"write `gpu: {pool.gpu.key}, gpusPerNode: {pool.gpus_per_node}, "
            "instanceTypes: [n1-standard-8]`",
        )
    limit = row.host_limit
    if row.attachable and host is not None and limit is not None:
        vcpu = int(host.rsplit("-", 1)[-1])
        if vcpu > limit.vcpu:
            yield error(
                "gke-host-too-large",
                place,
                f"{pool.gpus_per_node} {pool.gpu.key} can be attached to at most {limit.vcpu} "
                f"vCPUs, and {host} has {vcpu}",
                f"write n1-standard-{_largest_n1(limit.vcpu)}, or more GPUs on each node",
                found=vcpu,
                limit=limit.vcpu,
            )


def _largest_n1(limit: int) -> int:
    return max(size for size in (1, 2, 4, 8, 16, 32, 64, 96) if size <= limit)


def _zones(pool: Pool, shape: GkeShape, spec: FleetSpec) -> Iterable[Finding]:
    region = spec.cluster.region
    named = [(f"{pool.path}.zones[{i}]", zone) for i, zone in enumerate(shape.zones)]
    named += [
        (f"{pool.path}.capacity[{i}].reserved.zone", rung.zone)
        for i, rung in enumerate(shape.rungs)
        if rung.zone is not None
    ]
    for place, zone in named:
        if not _ZONE.match(zone) or (region is not None and not zone.startswith(f"{region}-")):
            yield error(
                "zone-not-of-region",
                place,
                f"{zone!r} is no zone of {region}",
                f"write {region}-a" if region else "write us-central1-a",
                found=zone,
            )
    if shape.one_zone is not None and len(shape.zones) > 1:
        yield error(
            "gke-one-zone",
            f"{pool.path}.zones",
            f"{shape.one_zone}, and {len(shape.zones)} zones are named",
            f"write zones: [{shape.zones[0]}]",
            found=list(shape.zones),
        )
    reserved = {rung.zone for rung in shape.rungs if rung.zone is not None}
    if shape.one_zone is not None and not shape.zones and not reserved:
        yield error(
            "gke-zone-missing",
            f"{pool.path}.zones",
            f"{shape.one_zone}, and none is named: the cluster's zones would all be used",
            f"write zones: [{region}-a], with the zone that has the capacity",
        )
    if reserved and shape.zones and not reserved <= set(shape.zones):
        yield error(
            "gke-reservation-in-other-zone",
            f"{pool.path}.zones",
            f"the reservation is in {', '.join(sorted(reserved))}, and the pool is in "
            f"{', '.join(shape.zones)}",
            f"write zones: [{min(reserved)}]",
            found=list(shape.zones),
        )


def _reservations(pool: Pool) -> Iterable[Finding]:
    for index, entry in enumerate(pool.capacity):
        reserved = entry.reserved
        if reserved is None:
            continue
        place = f"{pool.path}.capacity[{index}].reserved"
        if not _RESERVATION.match(reserved.id):
            yield error(
                "gke-reservation-name",
                f"{place}.id",
                f"{reserved.id!r} is no reservation of Google",
                "write its name, or projects/P/reservations/R for a shared one",
                found=reserved.id,
            )
        if len(reserved.blocks) > 1:
            yield error(
                "gke-one-reservation-block",
                f"{place}.blocks",
                f"a node pool takes one block of a reservation, and {len(reserved.blocks)} are "
                "listed",
                "write one block, and a pool for each other",
                found=list(reserved.blocks),
            )
    options = pool.spec.gke
    if options is not None and options.open_reservations:
        modes = [entry.mode for entry in pool.capacity]
        if "onDemand" not in modes:
            yield error(
                "gke-open-reservations-not-on-demand",
                f"{pool.path}.gke.openReservations",
                "only on-demand nodes use open reservations, and the pool buys "
                f"{', '.join(modes)}: GKE takes NO_RESERVATION alone there",
                "remove it, or name the reservation under `reserved`",
                found=modes,
            )


def _placement(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    if not shape.options.compact_placement:
        return
    place = f"{pool.path}.gke.compactPlacement"
    for rung in shape.rungs:
        if rung.queued:
            yield error(
                "gke-compact-with-queued",
                place,
                "GKE refuses compact placement with queued provisioning",
                "remove one of the two",
            )
        if rung.flex_start and not shape.machine_type.startswith(COMPACT_WITH_FLEX_START):
            yield error(
                "gke-compact-with-flex-start",
                place,
                f"with flex start only {', '.join(COMPACT_WITH_FLEX_START)} can be placed "
                f"compactly, and the machine is {shape.machine_type}",
                "remove compactPlacement",
                found=shape.machine_type,
            )
        if upgrade_strategy(shape.options, rung) is UpgradeStrategy.BLUE_GREEN:
            yield error(
                "gke-compact-with-blue-green",
                f"{pool.path}.gke.upgrade.strategy",
                "GKE refuses blue-green upgrades with compact placement",
                "write `strategy: surge`",
            )


def _operations(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    options = shape.options
    for rung in shape.rungs:
        dynamic = rung.flex_start or rung.queued
        what = "queued capacity" if rung.queued else "flex start"
        if dynamic and options.auto_repair:
            yield error(
                "gke-auto-repair-with-flex-start",
                f"{pool.path}.gke.autoRepair",
                f"GKE refuses automatic repair with {what}",
                "write `autoRepair: false`, or leave it out",
            )
        if dynamic and pool.nodes.minimum > 0:
            yield error(
                "gke-minimum-with-flex-start",
                f"{pool.path}.nodes.min",
                f"with {what} nodes come when there is capacity: GKE takes a minimum of 0 alone, "
                f"and {pool.nodes.minimum} is declared",
                "write `min: 0`",
                found=pool.nodes.minimum,
                limit=0,
            )
        strategy = upgrade_strategy(options, rung)
        if strategy is UpgradeStrategy.SHORT_LIVED and not dynamic:
            yield error(
                "gke-short-lived-upgrade",
                f"{pool.path}.gke.upgrade.strategy",
                f"shortLived upgrades are for nodes that end by themselves, and the pool buys "
                f"{rung.capacity.mode}",
                "write `strategy: surge`",
            )
        if strategy is UpgradeStrategy.BLUE_GREEN and (
            dynamic or rung.reservation_type == "SPECIFIC_RESERVATION"
        ):
            yield error(
                "gke-blue-green-without-spare",
                f"{pool.path}.gke.upgrade.strategy",
                f"a blue-green upgrade needs every node twice, which {rung.capacity.mode} capacity "
                "does not hold",
                "write `strategy: surge`",
            )
    if options.upgrade.max_surge > 0 and options.upgrade.strategy in (None, UpgradeStrategy.SURGE):
        yield warning(
            "gke-surge-needs-spare-gpus",
            f"{pool.path}.gke.upgrade.maxSurge",
            f"each upgrade asks for {options.upgrade.max_surge} more nodes with GPUs first, and "
            "waits where there are none",
            "write `maxSurge: 0, maxUnavailable: 1`",
            found=options.upgrade.max_surge,
        )


def _disks(pool: Pool, shape: GkeShape, row: InstanceType) -> Iterable[Finding]:
    options = shape.options
    series = "-".join(shape.machine_type.split("-")[:2])
    bundled = bundled_ssds(row)
    known = row.local_nvme_bytes is not None and series not in FREE_SSD_FAMILIES
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
            "write `localSsds: 1`, or remove localSsdUse"
            if series in FREE_SSD_FAMILIES
            else "remove localSsdUse",
        )
    only = "hyperdisk-balanced"
    if shape.disk_type != only and (
        row.family in ("a4", "a4x", "g4") or row.name.startswith("a3-ultragpu")
    ):
        yield error(
            "gke-disk-type",
            f"{pool.path}.gke.diskType",
            f"{row.name} boots from {only} alone, and {shape.disk_type} is declared",
            "leave diskType out",
            found=shape.disk_type,
            limit=only,
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
        if _minor(spec.cluster.kubernetes_version) < _minor(NETWORK_PROFILE_SINCE):
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
                "networks for GPUDirect are made, and `fabric` says that nobody uses them",
                f"write `fabric: {_fabric_of(row)}`",
            )
    if pool.fabric is Fabric.NONE and row.gpudirect is not None and pool.intent.value == "training":
        yield warning(
            "gke-training-without-gpudirect",
            f"{pool.path}.fabric",
            f"{row.name} has {row.gpudirect} with {row.network_gbps} Gbit/s, and jobs over several "
            "nodes would use its first interface alone",
            f"write `fabric: {_fabric_of(row)}`",
        )
    if shape.options.fast_socket and pool.fabric is not Fabric.NONE:
        yield error(
            "gke-fast-socket-with-gpudirect",
            f"{pool.path}.gke.fastSocket",
            f"Fast Socket speeds NCCL over TCP up, and {pool.fabric.value} does not use TCP",
            "remove fastSocket",
        )


def _fabric_of(row: InstanceType) -> str:
    return (row.gpudirect or "none").lower().replace("gpudirect", "").strip(" -")


def _driver(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    options = shape.options
    if shape.operator and options.driver_version != "default":
        yield error(
            "gke-driver-version-of-operator",
            f"{pool.path}.gke.driverVersion",
            "GKE installs no driver with `driver: gpuOperator`, so it has no version there",
            "remove driverVersion",
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
    if options.tpu_topology is not None and not is_tpu(pool):
        yield error(
            "gke-tpu-topology-without-tpu",
            f"{pool.path}.gke.tpuTopology",
            f"{pool.gpu.key} is no TPU",
            "remove tpuTopology",
        )


def _ladder(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    if not shape.ladder:
        return
    if pool.nodes.minimum > 0:
        yield error(
            "gke-ladder-minimum",
            f"{pool.path}.nodes.min",
            f"the pool is bought in {len(shape.rungs)} ways, each a node pool of its own, and a "
            f"minimum of {pool.nodes.minimum} would hold for each",
            "write `min: 0`, and a pool of its own for nodes that always run",
            found=pool.nodes.minimum,
            limit=0,
        )
    if pool.spec.import_id is not None:
        yield error(
            "gke-ladder-import",
            f"{pool.path}.importId",
            "one node pool is imported, and the pool is bought in several ways, each a node pool",
            "keep one entry under capacity",
        )
    yield warning(
        "gke-ladder-limits",
        f"{pool.path}.nodes.max",
        f"each of the {len(shape.rungs)} node pools may reach {pool.nodes.maximum} nodes, all "
        f"together {len(shape.rungs) * pool.nodes.maximum}: a ComputeClass has no limit of its own",
        "spend is counted so; lower `max` where that is too much",
        found=pool.nodes.maximum,
        together=len(shape.rungs) * pool.nodes.maximum,
    )
    modes = [rung.capacity.mode for rung in shape.rungs]
    if "spot" in modes and modes.index("spot") < len(modes) - 1 and pool.intent.value == "training":
        yield warning(
            "gke-ladder-spot-first",
            f"{pool.path}.capacity",
            "spot capacity is tried before capacity that stays, for jobs that a loss ends",
            "put spot last",
            found=modes,
        )


def _operated(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Pools of the GPU Operator: one folder of the driver, which is the operator's one setting."""
    operated = [pool for pool in pools if not served_by_gke(pool.spec, pool.platform)]
    by_root: dict[str, list[Pool]] = {}
    for pool in operated:
        by_root.setdefault(driver_root(pool.image, pool.platform), []).append(pool)
    if len(by_root) > 1:
        google, own = by_root[GKE_ROOT], by_root[OPERATOR_ROOT]
        yield error(
            "gke-operator-two-drivers",
            f"{own[0].path}.image",
            f"{', '.join(pool.name for pool in own)} gets its driver from the GPU Operator and "
            f"{', '.join(pool.name for pool in google)} from Google's installer: the operator "
            "looks for drivers in one folder of all nodes",
            "give all pools of the operator one image",
            folders=sorted(by_root),
        )
    elif GKE_ROOT in by_root:
        named = by_root[GKE_ROOT]
        yield info(
            "gke-driver-installer-needed",
            f"{named[0].path}.gke.driver",
            f"GKE installs no driver for {', '.join(pool.name for pool in named)}, and the "
            "operator's does not run on Container-Optimized OS: Google's driver installer must run "
            "there",
            "apply GoogleCloudPlatform/container-engine-accelerators "
            "nvidia-driver-installer/cos/daemonset-preloaded.yaml",
            pools=[pool.name for pool in named],
        )


def _raw(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    for key in shape.options.node_pool:
        if key in WIRED:
            yield error(
                "raw-argument-wired",
                f"{pool.path}.gke.nodePool.{key}",
                f"{key} is wired by the component, and nodes hang on it",
                "remove it; names, sizes and places have settings of their own",
                found=key,
            )


def _minor(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
