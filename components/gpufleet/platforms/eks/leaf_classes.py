"""What a difference in a field does to nodes on EKS, where the inputs of the nodes' resources do
not show it (`registered`)."""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.shape import eks_shape


def leaf_classes(pool: Pool) -> Mapping[str, LeafClass]:
    """Karpenter resolves an image's alias by the version of the cluster: with another one its nodes
    drift (Karpenter v1.15 documentation, NodeClasses, amiSelectorTerms). An image of one's own
    follows no Kubernetes version."""
    if pool.provisioner.by_node_pool and not eks_shape(pool).custom:
        return {"cluster.kubernetesVersion": LeafClass.ROLLING}
    return {}
