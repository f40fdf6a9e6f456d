"""Computations of Amazon EKS about pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from gpufleet.catalogue import InstanceType, NodeImage
from gpufleet.contract.owners import NO_OPERANDS
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Machine, NodeRange, Pool
from gpufleet.fleet.platform_rules import FabricRequest, PlatformRules
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.eks.argument_rules import validate_arguments
from gpufleet.platforms.eks.auto_mode_rules import validate_auto_mode
from gpufleet.platforms.eks.autoscaler_tags import EFA
from gpufleet.platforms.eks.bottlerocket import (
    as_published,
    shares_by_settings,
    validate_bottlerocket_sharing,
)
from gpufleet.platforms.eks.cluster_autoscaler_values import validate_autoscaler
from gpufleet.platforms.eks.efa import HUGE_PAGES, MIB, least_pages
from gpufleet.platforms.eks.karpenter_objects import CAPACITY_TYPES, KARPENTER_ORDER, disruption
from gpufleet.platforms.eks.registered import registered, requirement_class
from gpufleet.platforms.eks.rules import validate_eks, validate_karpenter
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.user_data import image_family
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.platforms.eks import UpdateStrategy
from gpufleet.spec.pool import Fabric, GpuPool, Provisioner
from gpufleet.spec.sharing import Sharing

_rules = rules_in(__file__)

EFA_HUGE_PAGES_MIB = 5120
"""MiB of huge pages that a pod with EFA requests, from Amazon's own example (Amazon EKS user guide,
machine learning with EFA), if the machine has that amount."""

LEAST_MEMORY = "8Gi"
"""Minimum memory request of such a pod: the API server accepts huge pages only together with CPU or
memory. Raise it to the need of the job."""


class EksRules(PlatformRules):
    """EKS: node groups with one capacity type, Karpenter, EFA."""

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        """Whether each machine has EFA if the pool requires it."""
        return _rules("fabric", path, pool=pool, machines=machines)

    def paid_nodes(self, pool: GpuPool, nodes: NodeRange) -> NodeRange:
        """Nodes and running machines of the warm pool together; `nodes` if none runs.

        Amazon EC2 Auto Scaling user guide, warm pools: a warm pool has at least `minSize` machines,
        and at most the group's shortfall to `maxGroupPreparedCapacity`, by default to its largest
        size; instances in the state Running cost the normal price, stopped ones the price of their
        disks.
        """
        raw = {} if pool.eks is None else pool.eks.node_group
        if value_at(raw, "warmPoolConfig.poolState") != "RUNNING":
            return nodes
        if value_at(raw, "warmPoolConfig.enabled") is False:
            return nodes
        least = _count(value_at(raw, "warmPoolConfig.minSize"), 0)
        prepared = _count(value_at(raw, "warmPoolConfig.maxGroupPreparedCapacity"), nodes.maximum)

        def paid(wanted: int) -> int:
            return wanted + max(least, prepared - wanted)

        return NodeRange(paid(nodes.minimum), paid(nodes.expected), paid(nodes.maximum))

    def serves_devices(self, pool: GpuPool) -> bool:
        """Bottlerocket's own plugin shares by settings of the image; Auto Mode has its own."""
        return pool.provisioner is Provisioner.AUTO_MODE or shares_by_settings(pool)

    def published_sharing(self, sharing: Sharing) -> Sharing:
        return as_published(sharing)

    def validate_sharing(
        self, pool: GpuPool, path: str, machine: InstanceType | None
    ) -> list[Finding]:
        place = f"{path}.sharing.{pool.sharing.mode}"
        found = _rules("sharing", place, pool=pool)
        return [*found, *validate_bottlerocket_sharing(pool, path, machine)]

    def node_labels(self, pool: GpuPool, capacity: Sequence[Capacity]) -> Mapping[str, str]:
        """Auto Mode's nodes have driver and plugin from AWS."""
        return NO_OPERANDS if pool.provisioner is Provisioner.AUTO_MODE else {}

    def left_of_image(self, image: NodeImage, pool: GpuPool) -> NodeImage:
        """A custom AMI may have any driver."""
        own = pool.eks is not None and pool.eks.ami_id is not None
        if not own:
            return image
        because = "a custom AMI is in FIPS mode only if it was built with it"
        return replace(image, driver_branch=None, branches={}, fips=None, fips_because=because)

    def validate_capacity(
        self, pool: GpuPool, path: str, provisioner: Provisioner
    ) -> Iterable[Finding]:
        """A node group has one capacity type; Karpenter has a fixed order."""
        modes = [entry.mode for entry in pool.capacity]
        by_cost = sorted(modes, key=lambda mode: KARPENTER_ORDER.index(CAPACITY_TYPES[mode]))
        known = {"modes": modes, "by_cost": by_cost, "ordered": modes == by_cost}
        return _rules("capacity", path, provisioner=provisioner, **known)

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

    def refused_kubelet_settings(self, pool: Pool) -> Mapping[str, str] | str:
        """Field of `kubelet` -> why nodes of the pool do not get it.

        nodeadm and Bottlerocket compute their reservations when a machine starts, from its maximum
        number of pods (awslabs/amazon-eks-ami 81fec2e `nodeadm/internal/kubelet`; Bottlerocket's
        setting generators). EKS's own images of Amazon Linux 2 and of Ubuntu start with a script
        that EKS writes.
        """
        if pool.provisioner is Provisioner.AUTO_MODE:
            return "the NodeClass of EKS Auto Mode has no kubelet settings"
        family = image_family(pool)
        if family in {"al2023", "bottlerocket"}:
            computed = f"nodes of {family} compute their reservations when they start"
            needs = "the static policy starts only if it gets exactly that amount"
            return {
                "memoryManager": f"{computed}, and {needs}",
                **dict.fromkeys(_RESERVED, computed),
            }
        if eks_shape(pool).custom:
            return {}
        return f"EKS starts nodes of {family} with its own script, which sets no managers"

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        return registered(fleet, pool)

    def input_class(self, kind: str, path: str, old: object, new: object) -> LeafClass:
        if kind == "nodePool" and path.startswith("requirements."):
            return requirement_class(old, new)
        return super().input_class(kind, path, old, new)

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """Order in which nodes are replaced.

        Managed node groups: Amazon EKS user guide, managed node update behavior: `maxUnavailable`
        nodes at a time; the strategy DEFAULT starts new nodes first, MINIMAL ends old ones first.
        The engine replaces a group that cannot change: it starts a new one with its minimum size
        before it deletes the old one. Karpenter: kubernetes-sigs/karpenter 013941a
        `pkg/apis/v1/nodepool.go`, disruption budgets, rounded up; a drifted node is removed when
        its replacement is ready.
        """
        if pool.provisioner.by_node_pool:
            return _karpenter(pool)
        if replaced:
            note = "the new group starts with nodes.min nodes, and its autoscaler adds the others"
            return Rollout("pulumi up", None, pool.nodes.minimum, note)
        update = eks_shape(pool).options.update
        surge = update.strategy is UpdateStrategy.SURGE
        return Rollout("EKS", update.max_unavailable, None if surge else 0)

    def image_release(self, pool: Pool) -> str | None:
        """The last part of `1.36.0-20261101`."""
        version = None if pool.spec.eks is None else pool.spec.eks.release_version
        return None if version is None or "-" not in version else version.rpartition("-")[2]

    def cluster_classes(self, pool: Pool) -> Mapping[str, LeafClass]:
        """Karpenter resolves an image's alias by the version of the cluster: with another one its
        nodes drift (Karpenter v1.15 documentation, NodeClasses, amiSelectorTerms). A custom image
        does not depend on the Kubernetes version."""
        if pool.provisioner.by_node_pool and not eks_shape(pool).custom:
            return {"cluster.kubernetesVersion": LeafClass.ROLLING}
        return {}


_RESERVED = ("reservedCpus", "reservedMemoryMib")


def _karpenter(pool: Pool) -> Rollout:
    auto = pool.provisioner is Provisioner.AUTO_MODE
    options = pool.spec.karpenter or KarpenterPoolOptions()
    rules, _ = disruption(pool.intent, options, auto_mode=auto)
    who = "EKS Auto Mode" if auto else "Karpenter"
    limits = [
        str(one.get("nodes", "10%"))
        for one in cast("list[dict[str, Any]]", rules["budgets"])
        if "Drifted" in one.get("reasons", ("Drifted",)) and "schedule" not in one
    ]
    if "0" in limits or "0%" in limits:
        note = "a budget of 0 for drifted nodes: none goes until it is empty or the budget changes"
        return Rollout(who, 1, None, note)
    shown = f"budget {', '.join(limits)}" if limits else "no budget"
    return Rollout(who, _fewest(limits, pool.nodes.expected), None, shown)


def _fewest(limits: list[str], nodes: int) -> int | None:
    counts = [
        -(-nodes * int(text.removesuffix("%")) // 100) if text.endswith("%") else int(text)
        for text in limits
    ]
    return max(1, min(counts)) if counts else None


def _count(value: object, default: int) -> int:
    """A number of machines; -1 means the default."""
    given = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if given and isinstance(value, int) else default


RULES = EksRules()
