"""Plain facts of Amazon EKS."""

from gpufleet.catalogue import AWS, InstanceType
from gpufleet.contract.platform_facts import BetaClaims, PlatformFacts
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric, Provisioner


def fabric_of(row: InstanceType) -> Fabric:
    """EFA, where the type has an interface for it."""
    return Fabric.EFA if row.efa_interfaces else Fabric.NONE


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
    # Node groups refuse a price in the launch template, Karpenter has no field for it.
    spot_takes_a_price=False,
    default_image="al2023-nvidia",
    default_neuron_image="al2023-neuron",
    provisioner_images={Provisioner.AUTO_MODE: "eks-auto"},
    planned_provisioner=Provisioner.KARPENTER,
    mixes_machine_types=True,
    # Labels of CreateNodegroup and of our own user data become `--node-labels`
    # (awslabs/amazon-eks-ami `nodeadm`). Karpenter's controller writes those of a NodePool.
    kubelet_sets_labels=True,
    # Amazon EKS user guide, `ml-workload-topology` (read 2026-11-21): layer 1 is the widest, layer
    # 3 the closest on most types; the cloud controller writes them. Every node has its own name
    # besides.
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
