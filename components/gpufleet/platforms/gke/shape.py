"""Properties of a GKE pool from its declaration: capacity steps, machine, zones, disks, NICs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gpufleet.catalogue import InstanceType
from gpufleet.fleet.model import GIB, NodeTaint, Pool
from gpufleet.platforms.clouds.gcp_machines import boot_disks, host_machine
from gpufleet.platforms.gke.sharing import served_by_gke
from gpufleet.platforms.gke.tpu import tpu_slice
from gpufleet.spec.base import Platform
from gpufleet.spec.capacity import Capacity, minutes
from gpufleet.spec.platforms.gke import GkeOptions, LocalSsdUse, UpgradeStrategy

LOCAL_SSD_BYTES = 375 * GIB
"""Size of one local SSD (Google Compute Engine, read 2026-11-21)."""

COMPUTE_CLASS = "cloud.google.com/compute-class"
"""Label and taint of node pools that belong to a ComputeClass (GKE documentation, about custom
compute classes, read 2026-11-21)."""

ARM_TAINT = NodeTaint("kubernetes.io/arch", "arm64", "NoSchedule")
"""Taint that GKE sets on every Arm node, including A4X, so that images of x86 stay away (GKE
documentation, prepare Arm workloads; cluster-toolkit `examples/gke-a4x`, read 2026-11-22)."""

QUEUED_TAINT = NodeTaint("cloud.google.com/gke-queued", "true", "NoSchedule")
"""Label, and taint that GKE sets on nodes of queued node pools. Google's guide lets pods
tolerate it (GoogleCloudPlatform/cluster-toolkit, GKE consumption options user guide; read
2026-11-23)."""

QUEUED_LABEL = {QUEUED_TAINT.key: QUEUED_TAINT.value}

GKE_TAINTS = (ARM_TAINT, QUEUED_TAINT)
"""Taints that the arguments of a node pool leave to GKE."""

RESERVATION_KEY = "compute.googleapis.com/reservation-name"

EXTRA_NETWORKS = {"GPUDirect-TCPX": (4, "NetDevice"), "GPUDirect-TCPXO": (8, "NetDevice")}
"""GPUDirect of a machine -> networks besides the first, and how pods get their interfaces
(cloud.google.com compute/docs/gpus/gpu-network-bandwidth; cluster-toolkit 1047080)."""

RDMA_NETWORKS = {"a4x": 4}
"""RDMA interfaces by family; every other family with RDMA has 8 (the same sources)."""

NVLINK_DOMAINS = {"a4x": "1x72"}
"""Family -> GPUs of the NVLink domain in which a workload policy keeps a node pool, in Google's
form of a topology (cluster-toolkit `examples/gke-a4x/gke-a4x.yaml` at 5b89bdc, read 2026-11-22)."""


@dataclass(frozen=True, slots=True)
class GpuInterface:
    """One additional network interface of a node."""

    name: str
    """Name of the Kubernetes Network that pods name: `vpc1`, `gvnic-1`, `rdma-0`."""
    device_mode: str
    """`NetDevice` or `RDMA`."""


@dataclass(frozen=True, slots=True)
class CapacityStep:
    """One capacity type, which is one node pool: a node pool of GKE has one capacity type."""

    name: str
    """Suffix of the node pool's name; empty if the pool has one capacity type."""
    capacity: Capacity
    spot: bool
    flex_start: bool
    queued: bool
    reservation_type: str
    """`NO_RESERVATION`, `ANY_RESERVATION` or `SPECIFIC_RESERVATION`."""
    reservation: str | None
    """Reservation, with its block, for SPECIFIC_RESERVATION."""
    max_run_seconds: int | None
    zone: str | None
    """Zone of the reservation, if it is declared."""


@dataclass(frozen=True, slots=True)
class GkeShape:
    """Common decisions of node pools, ComputeClass and networks."""

    options: GkeOptions
    machine_type: str
    """Machine type of the node pool; with attached GPUs, the type of their host."""
    steps: tuple[CapacityStep, ...]
    zones: tuple[str, ...]
    """Zones in the declaration; empty: the cluster's."""
    one_zone: str | None
    """Why all nodes must be in one zone; None if they need not."""
    operator: bool
    """Whether the GPU Operator runs the GPU stack, not GKE."""
    image_type: str
    disk_type: str
    local_ssds: int
    networks: tuple[GpuInterface, ...]
    """Interfaces of a pool with GPUDirect; empty: one interface, or GKE creates them."""
    automatic_networks: bool
    secure_boot: bool

    @property
    def fallback_order(self) -> bool:
        """Whether the pool has several capacity types under one ComputeClass."""
        return len(self.steps) > 1


def gke_shape(pool: Pool) -> GkeShape:
    """The shape of a pool on GKE. Raises ValueError for another platform's pool."""
    row = pool.machines[0].instance
    if pool.platform.name is not Platform.GKE or row is None:
        raise ValueError(f"{pool.name} is a pool of {pool.platform.name.value}, not of gke")
    options = pool.spec.gke or GkeOptions()
    operator = not served_by_gke(pool.spec)
    cos = pool.image is None or pool.image.key == "cos"
    automatic = options.accelerator_network_profile is not None
    with_fabric = pool.fabric.value != "none"
    steps = _steps(pool, options)
    return GkeShape(
        options=options,
        machine_type=host_machine(pool) or row.name,
        steps=steps,
        zones=tuple(dict.fromkeys(pool.spec.zones)),
        one_zone=_one_zone(pool, options, steps),
        operator=operator,
        image_type="COS_CONTAINERD" if cos else "UBUNTU_CONTAINERD",
        disk_type=options.disk_type or (boot_disks(row) or ("pd-balanced",))[0],
        local_ssds=bundled_ssds(row) if options.local_ssds is None else options.local_ssds,
        networks=networks(row) if with_fabric and not automatic else (),
        automatic_networks=automatic,
        secure_boot=(cos and not operator) if options.secure_boot is None else options.secure_boot,
    )


def bundled_ssds(row: InstanceType) -> int:
    """Local SSDs of a machine type; 0 if none, or if the catalogue has none."""
    return (row.local_nvme_bytes or 0) // LOCAL_SSD_BYTES


def networks(row: InstanceType) -> tuple[GpuInterface, ...]:
    """Additional interfaces of a machine, with the network names of Google's blueprints."""
    if row.gpudirect in EXTRA_NETWORKS:
        count, mode = EXTRA_NETWORKS[row.gpudirect]
        return tuple(GpuInterface(f"vpc{index}", mode) for index in range(1, count + 1))
    if row.gpudirect == "GPUDirect RDMA":
        count = RDMA_NETWORKS.get(row.family, 8)
        rdma = (GpuInterface(f"rdma-{index}", "RDMA") for index in range(count))
        return (GpuInterface("gvnic-1", "NetDevice"), *rdma)
    return ()


def upgrade_strategy(options: GkeOptions, step: CapacityStep) -> UpgradeStrategy:
    """Upgrade strategy of a step without a declared one."""
    if options.upgrade.strategy is not None:
        return options.upgrade.strategy
    if step.flex_start or step.queued:
        return UpgradeStrategy.SHORT_LIVED
    return UpgradeStrategy.SURGE


def raw_ssds(options: GkeOptions) -> bool:
    """Whether local SSDs stay block devices."""
    return options.local_ssd_use is LocalSsdUse.RAW


def step_names(modes: Sequence[str]) -> list[str]:
    """Names of the steps of a pool with these capacity types, in their order; of one step, none."""
    if len(modes) == 1:
        return [""]
    names = [{"onDemand": "on-demand", "flexStart": "flex"}.get(mode, mode) for mode in modes]
    return [
        name if names.count(name) == 1 else f"{name}-{names[:index].count(name) + 1}"
        for index, name in enumerate(names)
    ]


def _steps(pool: Pool, options: GkeOptions) -> tuple[CapacityStep, ...]:
    names = step_names([entry.mode for entry in pool.capacity])
    return tuple(
        _step(name, entry, options) for name, entry in zip(names, pool.capacity, strict=True)
    )


def _step(name: str, entry: Capacity, options: GkeOptions) -> CapacityStep:
    reserved = entry.reserved
    dynamic = entry.flex_start or entry.queued
    flex = entry.flex_start is not None or (entry.queued is not None and entry.queued.flex_start)
    kind, target = "NO_RESERVATION", None
    if reserved is not None:
        kind = "SPECIFIC_RESERVATION"
        blocks = "".join(f"/reservationBlocks/{block}" for block in reserved.blocks[:1])
        target = f"{reserved.id}{blocks}"
    elif entry.on_demand is not None and options.open_reservations:
        kind = "ANY_RESERVATION"
    return CapacityStep(
        name=name,
        capacity=entry,
        spot=entry.spot is not None,
        flex_start=flex,
        queued=entry.queued is not None,
        reservation_type=kind,
        reservation=target,
        max_run_seconds=None if dynamic is None else minutes(dynamic.max_run_duration) * 60,
        zone=None if reserved is None else reserved.zone,
    )


def placed_topology(pool: Pool) -> str | None:
    """Topology by which a workload policy places the pool's hosts: of a TPU slice, or of an NVLink
    domain. None if the node pool itself places them, or no placement is needed."""
    slice_ = tpu_slice(pool)
    if slice_ is not None:
        return slice_.topology if slice_.workload_policy else None
    row = pool.machines[0].instance
    return None if row is None else NVLINK_DOMAINS.get(row.family)


def nodes_of_domain(pool: Pool) -> int | None:
    """Machines of the NVLink domain that contains the whole pool; None if there is none."""
    row = pool.machines[0].instance
    topology = None if row is None else NVLINK_DOMAINS.get(row.family)
    if topology is None:
        return None
    return prod(int(side) for side in topology.split("x")) // pool.gpus_per_node


def _one_zone(pool: Pool, options: GkeOptions, steps: tuple[CapacityStep, ...]) -> str | None:
    if options.compact_placement:
        return "compact placement is in one zone"
    slice_ = tpu_slice(pool)
    if slice_ is not None and slice_.hosts > 1:
        return "the hosts of a slice are in one zone"
    if any(step.reservation_type == "SPECIFIC_RESERVATION" for step in steps):
        return "a reservation is in one zone"
    return "GPUDirect traffic does not leave its zone" if pool.fabric.value != "none" else None


def wanted_repair(pool: Pool, options: GkeOptions) -> bool | None:
    """Whether GKE must repair the pool's nodes; None: not declared."""
    return options.auto_repair if pool.health is None else pool.health.platform_repairs
