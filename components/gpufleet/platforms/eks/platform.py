"""What Amazon EKS computes from pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.catalogue import InstanceType, NodeImage
from gpufleet.contract.owners import NO_OPERANDS
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Machine, NodeRange, Pool
from gpufleet.fleet.platform_rules import FabricRequest, PlatformRules
from gpufleet.fleet.pod_volumes import PodVolume
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.eks.argument_rules import validate_arguments
from gpufleet.platforms.eks.auto_mode_rules import validate_auto_mode, validate_auto_sharing
from gpufleet.platforms.eks.autoscaler_tags import EFA
from gpufleet.platforms.eks.bottlerocket import (
    as_published,
    shares_by_settings,
    validate_bottlerocket_sharing,
)
from gpufleet.platforms.eks.cluster_autoscaler_values import validate_autoscaler
from gpufleet.platforms.eks.efa_pages import HUGE_PAGES, MIB, least_pages
from gpufleet.platforms.eks.karpenter_node_pool_manifest import CAPACITY_TYPES, KARPENTER_ORDER
from gpufleet.platforms.eks.karpenter_rules import validate_karpenter
from gpufleet.platforms.eks.kubelet import refused_kubelet_settings
from gpufleet.platforms.eks.registered import ENGINE_NAMES, input_class, registered
from gpufleet.platforms.eks.rollout import rollout
from gpufleet.platforms.eks.rules import validate_eks
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.storage import pod_volumes, validate_eks_storage
from gpufleet.platforms.eks.warm_pool import with_warm_pool
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric, GpuPool, Provisioner
from gpufleet.spec.sharing import Sharing

_finding = findings_in(__file__)

EFA_HUGE_PAGES_MIB = 5120
"""MiB of huge pages a pod with EFA asks for, as Amazon's own example does (Amazon EKS user guide,
machine learning with EFA), where the machine has as many."""

LEAST_MEMORY = "8Gi"
"""Memory such a pod asks for at least: the API server takes huge pages only next to processors or
memory. To be raised to what the job needs."""


class EksRules(PlatformRules):
    """EKS: node groups bought in one way, Karpenter, EFA."""

    engine_names = ENGINE_NAMES

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        """Whether each machine has EFA where the pool asks for it."""
        if pool.fabric is not Fabric.EFA:
            return
        for machine in machines:
            if machine.instance is not None and machine.instance.efa_interfaces is None:
                yield _finding("fabric-not-known", path, found=machine.name)
            elif machine.efa_interfaces == 0:
                yield _finding("fabric-not-on-machine", path, found=machine.name)

    def paid_nodes(self, pool: GpuPool, nodes: NodeRange) -> NodeRange:
        return with_warm_pool(pool, nodes)

    def serves_devices(self, pool: GpuPool) -> bool:
        """Bottlerocket's own plugin shares by settings of the image; Auto Mode has its own."""
        return pool.provisioner is Provisioner.AUTO_MODE or shares_by_settings(pool)

    def published_sharing(self, sharing: Sharing) -> Sharing:
        return as_published(sharing)

    def validate_sharing(
        self, pool: GpuPool, path: str, machine: InstanceType | None
    ) -> list[Finding]:
        return [
            *validate_auto_sharing(pool, path),
            *validate_bottlerocket_sharing(pool, path, machine),
        ]

    def node_labels(self, pool: GpuPool, capacity: Sequence[Capacity]) -> Mapping[str, str]:
        """Auto Mode's nodes have driver and plugin of AWS."""
        return NO_OPERANDS if pool.provisioner is Provisioner.AUTO_MODE else {}

    def left_of_image(self, image: NodeImage, pool: GpuPool) -> NodeImage:
        """An AMI of one's own may have any driver."""
        own = pool.eks is not None and pool.eks.ami_id is not None
        if not own:
            return image
        because = "an AMI of your own is in FIPS mode where it was built so"
        return replace(image, driver_branch=None, branches={}, fips=None, fips_because=because)

    def validate_capacity(
        self, pool: GpuPool, path: str, provisioner: Provisioner
    ) -> Iterable[Finding]:
        """A node group has one capacity type; Karpenter has an order of its own."""
        modes = [entry.mode for entry in pool.capacity]
        by_cost = sorted(modes, key=lambda mode: KARPENTER_ORDER.index(CAPACITY_TYPES[mode]))
        if provisioner.by_node_pool and modes != by_cost:
            yield _finding("karpenter-order-of-capacity", path, found=modes, by_cost=by_cost)
        if len(modes) > 1 and not provisioner.by_node_pool:
            yield _finding("capacity-list-on-managed-group", path, count=len(modes), found=modes)

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        return [
            *validate_eks(spec, pools),
            *validate_karpenter(spec, pools),
            *validate_auto_mode(spec, pools),
        ]

    raw_places = (
        *("eks.nodeGroup", "eks.launchTemplate", "karpenter.nodePool", "karpenter.nodeClass"),
    )

    def validate_arguments(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        return (*validate_arguments(spec, pools), *validate_autoscaler(spec, pools))

    def fabric_request(self, pool: Pool) -> FabricRequest:
        """Interfaces that every machine of the pool has, and the huge pages of their driver."""
        if pool.fabric is not Fabric.EFA:
            return FabricRequest()
        interfaces = min(machine.efa_interfaces for machine in pool.machines)
        pages = min(EFA_HUGE_PAGES_MIB, least_pages(pool) * MIB)
        return FabricRequest(
            limits={EFA: str(interfaces), HUGE_PAGES: f"{pages}Mi"},
            requests={"memory": LEAST_MEMORY},
        )

    def pod_volumes(self, pool: Pool) -> Sequence[PodVolume]:
        return pod_volumes(pool)

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str] | str:
        return refused_kubelet_settings(pool)

    def validate_pod_volumes(self, pool: Pool) -> Iterable[Finding]:
        return validate_eks_storage(pool)

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        return registered(fleet, pool)

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        return input_class(kind, path, old, new)

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        return rollout(pool, replaced=replaced)

    def image_release(self, pool: Pool) -> str | None:
        """The last part of `1.36.0-20261101`."""
        version = None if pool.spec.eks is None else pool.spec.eks.release_version
        return None if version is None or "-" not in version else version.rpartition("-")[2]

    def cluster_classes(self, pool: Pool) -> Mapping[str, LeafClass]:
        """Karpenter resolves an image's alias by the version of the cluster: with another one its
        nodes drift (Karpenter v1.15 documentation, NodeClasses, amiSelectorTerms). An image of
        one's own follows no Kubernetes version."""
        if pool.provisioner.by_node_pool and not eks_shape(pool).custom:
            return {"cluster.kubernetesVersion": LeafClass.ROLLING}
        return {}


RULES = EksRules()
