"""Computations of Google Kubernetes Engine about pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import GCP, InstanceType, NodeImage, load
from gpufleet.contract.dra import driver_root
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import AddonPlan, Fleet, Machine, NodeTaint, Pool
from gpufleet.fleet.platform_rules import FabricRequest, OperatorHost, PlatformRules
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.gke.autopilot import validate_autopilot
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.facts import FACTS, fabric_of
from gpufleet.platforms.gke.gpu_networks import refused_networks
from gpufleet.platforms.gke.gpudirect import gpudirect_request, installers_needed
from gpufleet.platforms.gke.node_pool_contract import validate_node_pools
from gpufleet.platforms.gke.registered import locations_class, registered
from gpufleet.platforms.gke.rules import validate_gke, validate_plugins, validate_taints
from gpufleet.platforms.gke.shape import (
    ARM_TAINT,
    COMPUTE_CLASS,
    QUEUED_LABEL,
    QUEUED_TAINT,
    gke_shape,
)
from gpufleet.platforms.gke.sharing import (
    DRA_NODES,
    GKE_PLUGIN_OFF,
    as_gke_publishes,
    served_by_gke,
    validate_gke_sharing,
    without_gke_stack,
)
from gpufleet.platforms.gke.tpu import tpu_slice
from gpufleet.spec.base import Ownership
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.gke import UpgradeStrategy
from gpufleet.spec.pool import Fabric, GpuPool, Provisioner
from gpufleet.spec.sharing import Sharing

_finding = findings_in(__file__)

QUEUED_CLASS = "queued-provisioning.gke.io"
REQUEST_LABEL = "autoscaling.gke.io/provisioning-request"
"""Label of the nodes of one request; its value is the detail `ResizeRequestName`."""

RUNTIME_FROM_FILE = {"RUNTIME_CONFIG_SOURCE": "file"}


class GkeRules(PlatformRules):
    """GKE: one machine type per node pool, its own plugin, several node pools under a class."""

    group_kinds = frozenset({"nodePool"})

    def offered_machines(self, rows: list[InstanceType], pool: GpuPool) -> list[InstanceType]:
        """The machine type of a node pool: the first with the pool's GPUDirect that is sold as the
        pool's capacity type."""
        modes = {entry.mode for entry in pool.capacity} or {"onDemand"}
        plain = pool.fabric is Fabric.NONE
        connected = [row for row in rows if plain or fabric_of(row) is pool.fabric]
        sold = [row for row in connected if modes <= row.purchase_options]
        return [(sold or connected or rows)[0]]

    def zones_counted(self, pool: GpuPool) -> int:
        """`nodes` may apply to each zone: every named zone counts."""
        each = pool.gke is not None and pool.gke.limits == "perZone"
        return max(1, len(set(pool.zones))) if each else 1

    def serves_devices(self, pool: GpuPool) -> bool:
        return served_by_gke(pool)

    def published_sharing(self, sharing: Sharing) -> Sharing:
        return as_gke_publishes(sharing)

    def left_of_image(self, image: NodeImage, pool: GpuPool) -> NodeImage:
        return image if served_by_gke(pool) else without_gke_stack(image)

    def node_labels(self, pool: GpuPool, capacity: Sequence[Capacity]) -> Mapping[str, str]:
        plugin = {} if served_by_gke(pool) else GKE_PLUGIN_OFF
        claimed = {} if pool.sharing.dra is None else DRA_NODES
        queued = QUEUED_LABEL if _queued(capacity) else {}
        of_class = {COMPUTE_CLASS: pool.name} if _in_class(pool, capacity) else {}
        return {**plugin, **claimed, **queued, **of_class}

    def node_taints(
        self,
        taints: tuple[NodeTaint, ...],
        pool: GpuPool,
        machine: Machine,
        capacity: Sequence[Capacity],
    ) -> tuple[NodeTaint, ...]:
        if _in_class(pool, capacity):
            taints = (*taints, NodeTaint(COMPUTE_CLASS, pool.name, "NoSchedule"))
        if _queued(capacity):
            taints = (*(taint for taint in taints if taint != QUEUED_TAINT), QUEUED_TAINT)
        if machine.architecture == "arm64":
            taints = (*(taint for taint in taints if taint != ARM_TAINT), ARM_TAINT)
        return taints

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        """Whether each machine has the GPUDirect of the pool."""
        if pool.fabric is Fabric.NONE or pool.fabric not in FACTS.fabrics:
            return
        for machine in machines:
            row = machine.instance
            if row is not None and fabric_of(row) is not pool.fabric:
                same = load().instances_with_gpu(row.accelerator.gpu, GCP)
                kinds = {fabric_of(one): one.name for one in reversed(same) if one.gpudirect}
                yield _finding(
                    "fabric-not-on-machine",
                    path,
                    found=machine.name,
                    gpudirect=row.gpudirect or "no GPUDirect",
                    fabric=pool.fabric.value,
                    offered=fabric_of(row).value,
                    others="".join(
                        f", or `fabric: {kind.value}` and `instanceTypes: [{name}]`"
                        for kind, name in kinds.items()
                        if not row.gpudirect
                    ),
                )

    def validate_sharing(
        self, pool: GpuPool, path: str, machine: InstanceType | None
    ) -> list[Finding]:
        return validate_gke_sharing(pool, path, machine)

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str] | str:
        if auto_created(pool):
            return "gpufleet writes no kubelet settings into a ComputeClass"
        why = "GKE computes its reservations, and node pools have no field for them"
        return dict.fromkeys(("reservedCpus", "reservedMemoryMib"), why)

    def validate_contract(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        return [*validate_taints(pools), *validate_plugins(spec, pools)]

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        yield from validate_gke(spec, pools)
        if not spec.addons.gpu_direct.enabled:
            yield from installers_needed(pools)
        if spec.addons.cluster_autoscaler.enabled:
            yield _finding("cluster-autoscaler-on-gke", found=spec.platform.value)

    raw_places = ("gke.nodePool",)

    def validate_arguments(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        for pool in pools:
            if pool.ownership is not Ownership.EXISTING and pool.machines[0].instance is not None:
                yield from validate_node_pools(pool, gke_shape(pool), spec)
        yield from refused_networks(spec, pools)

    def validate_addons(
        self, spec: FleetSpec, pools: Sequence[Pool], addons: AddonPlan
    ) -> Iterable[Finding]:
        return validate_autopilot(spec, pools, addons) if spec.cluster.autopilot else ()

    def operator_host(self, spec: FleetSpec, operated: Sequence[Pool]) -> OperatorHost:
        """Google's installer has its own directory on Container-Optimized OS, and from 1.33 on the
        toolkit must read containerd's configuration from its file (NVIDIA cloud-native-docs
        52dcb7b `gpu-operator/google-gke.rst`)."""
        if not operated:
            return OperatorHost()
        roots = {driver_root(pool.image, pool.platform) for pool in operated}
        minor = int(spec.cluster.kubernetes_version.split(".")[1])
        return OperatorHost(
            driver_root=FACTS.driver_root if roots == {FACTS.driver_root} else None,
            toolkit_env=RUNTIME_FROM_FILE if minor >= 33 else {},
        )

    def pod_selector(self, pool: Pool) -> Mapping[str, str]:
        """Labels of a TPU slice and of queued nodes; on a pool of several node pools, or of node
        pools that GKE creates, its ComputeClass."""
        slice_ = tpu_slice(pool)
        return {
            **({} if slice_ is None else slice_.labels),
            **(QUEUED_LABEL if _queued(pool.capacity) else {}),
            **({COMPUTE_CLASS: pool.name} if _in_class(pool.spec, pool.capacity) else {}),
        }

    def whole_nodes(self, pool: Pool) -> bool:
        """True for TPUs: the chips of one machine only work together (AI-Hypercomputer/xpk v1.13:
        `google.com/tpu` is the chips of the machine)."""
        return tpu_slice(pool) is not None

    def nodes_together(self, pool: Pool) -> int:
        """All hosts of a TPU slice, which run one job (Google, TPU slices on GKE)."""
        made = tpu_slice(pool)
        return 1 if made is None else made.hosts

    def fabric_request(self, pool: Pool) -> FabricRequest:
        """GPUDirect: interfaces, libraries and the daemon in the pod of the job."""
        return gpudirect_request(pool)

    def queued_provisioning(self, run_minutes: int) -> Mapping[str, object]:
        selected = {
            "key": REQUEST_LABEL,
            "valueFromProvisioningClassDetail": "ResizeRequestName",
        }
        return {
            "provisioningClassName": QUEUED_CLASS,
            "parameters": {"maxRunDurationSeconds": str(run_minutes * 60)},
            "podSetUpdates": {"nodeSelector": [selected]},
        }

    def mps_pod(self, pool: Pool) -> Mapping[str, object]:
        """GKE's plugin does not mount pipe and memory of the control daemon into the pod: Google
        requires the host's IPC namespace (GKE documentation, sharing GPUs with MPS)."""
        return {"hostIPC": True} if served_by_gke(pool.spec) else {}

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        return registered(fleet, pool)

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        if path == "nodeLocations" and kind == "nodePool":
            return locations_class(old, new)
        return super().input_class(kind, path, old, new)

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """Nodes of a ComputeClass for which GKE creates node pools are removed only when empty.

        A name is used once, so a node pool that cannot change is removed before the new one is
        created. Others follow the upgrade settings (GKE documentation, node upgrade strategies)."""
        if auto_created(pool):
            return Rollout("GKE", None, None, "nodes stay as they are until they are empty")
        if replaced:
            return Rollout("pulumi up", None, 0, "the old node pool is deleted first")
        upgrade = gke_shape(pool).options.upgrade
        if upgrade.strategy is UpgradeStrategy.BLUE_GREEN:
            return Rollout("GKE", None, None, "all new nodes first, blue-green")
        if upgrade.max_unavailable == 0:
            return Rollout("GKE", upgrade.max_surge, None)
        return Rollout("GKE", upgrade.max_unavailable)

    def same_node_group(self, old: Pool, new: Pool) -> bool:
        return old.spec.import_id is not None and old.spec.import_id == new.spec.import_id


def _queued(capacity: Sequence[Capacity]) -> bool:
    """Whether all nodes are queued: one of several capacity types does not decide."""
    return bool(capacity) and all(entry.queued for entry in capacity)


def _in_class(pool: GpuPool, capacity: Sequence[Capacity]) -> bool:
    """Whether pods request a ComputeClass: over several node pools, one for each capacity type, or
    by which GKE creates node pools."""
    return len(capacity) > 1 or pool.provisioner is Provisioner.COMPUTE_CLASS


RULES = GkeRules()
