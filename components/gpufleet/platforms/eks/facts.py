"""Plain facts of Amazon EKS."""

from dataclasses import replace

from gpufleet.catalogue import AWS, InstanceType
from gpufleet.contract.health import Repairer
from gpufleet.contract.platform_facts import BetaClaims, PlatformFacts
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric, Provisioner


def fabric_of(row: InstanceType) -> Fabric:
    """EFA, if the type supports it."""
    return Fabric.EFA if row.efa_interfaces else Fabric.NONE


_WATCHES = (
    "faults of GPUs, kernel, network, storage and container runtime that the node monitoring "
    "agent reports, and a silent kubelet"
)
_AFTER = "10 minutes for a GPU, 30 minutes for the rest"
_GUIDE = "awsdocs/amazon-eks-user-guide dbc0b72 latest/ug/nodes/node-repair.adoc"
_BLIND = "see a broken GPU of a node with MIG, where the agent does not run"

GROUPS = Repairer(
    who="EKS node auto repair",
    watches=_WATCHES,
    repairs="restarts or replaces the node, by the fault",
    cannot=_BLIND,
    after=_AFTER,
    keeps="80 % of a group of more than five nodes",
    source=_GUIDE,
    sets_floor=True,
    sets_pace=True,
)
KARPENTER_REPAIR = Repairer(
    who="Karpenter's node repair",
    watches=_WATCHES,
    repairs="replaces the node without waiting for its pods",
    cannot=f"have a floor or a limit of nodes at once, be on for some of its pools only, or "
    f"{_BLIND}",
    after=_AFTER,
    keeps="80 % of a NodePool, the number of unhealthy nodes rounded up",
    source=f"{_GUIDE}; kubernetes-sigs/karpenter pkg/controllers/node/health/controller.go",
    fixed_percent=20,
)
AUTO_MODE_REPAIR = replace(
    KARPENTER_REPAIR,
    who="EKS Auto Mode",
    cannot="be switched off, or have a floor or a limit of nodes at once",
    source=_GUIDE,
    always=True,
)

FACTS = PlatformFacts(
    platform=Platform.EKS,
    title="EKS",
    clouds=(AWS,),
    example_region="us-east-1",
    cluster_fields=("region",),
    vendors=("nvidia", "aws"),
    provisioners=(
        Provisioner.MANAGED,
        Provisioner.KARPENTER,
        Provisioner.AUTO_MODE,
        Provisioner.CLUSTER_AUTOSCALER,
    ),
    fabrics=(Fabric.NONE, Fabric.EFA),
    fabric_of=fabric_of,
    # CreateNodegroup capacityType.
    capacity=("onDemand", "spot", "reserved", "capacityBlock"),
    # Node groups refuse a price in the launch template, and Karpenter has no field for it.
    spot_takes_a_price=False,
    default_image="al2023-nvidia",
    default_neuron_image="al2023-neuron",
    provisioner_images={Provisioner.AUTO_MODE: "eks-auto"},
    planned_provisioner=Provisioner.KARPENTER,
    repairers={
        Provisioner.MANAGED: GROUPS,
        Provisioner.CLUSTER_AUTOSCALER: GROUPS,
        Provisioner.KARPENTER: KARPENTER_REPAIR,
        Provisioner.AUTO_MODE: AUTO_MODE_REPAIR,
    },
    repair_options=("eks.node_repair", "eks.node_group.nodeRepairConfig"),
    janitor="aws",
    mixes_machine_types=True,
    # Labels of CreateNodegroup and of our own user data become `--node-labels`
    # (awslabs/amazon-eks-ami `nodeadm`). Karpenter's controller writes those of a NodePool.
    kubelet_sets_labels=True,
    # Amazon EKS user guide, `ml-workload-topology` (read 2026-11-21): layer 1 is the widest, layer
    # 3 the closest on most types; the cloud controller writes them. In addition every node has its
    # own name.
    topology_levels=(
        "topology.k8s.aws/network-node-layer-1",
        "topology.k8s.aws/network-node-layer-2",
        "topology.k8s.aws/network-node-layer-3",
        "kubernetes.io/hostname",
    ),
    beta_claims=BetaClaims(
        "1.33",
        "",
        # Catalogue source eks-versions-standard. Gates of an EKS control plane cannot be set.
        "Amazon EKS user guide, release notes of 1.33",
    ),
)
