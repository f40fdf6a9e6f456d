"""What a difference in a field does to nodes on EKS.

Node groups: hashicorp/terraform-provider-aws 012e0a3 `internal/service/eks/node_group.go`. ForceNew
are ami_type, capacity_type, instance_types and subnet_ids; another launch template version,
release_version or version is UpdateNodegroupVersion, which replaces nodes by the update settings;
labels, taints, sizes, update and repair settings are UpdateNodegroupConfig.
Karpenter: its documentation of v1, Disruption, section Drift:
fields of the template and of the node class replace nodes; weight, limits and disruption do not.
"""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.spec.pool import Provisioner

_ROLLING = ("disk", "eks.amiId", "eks.releaseVersion", "eks.metadataHopLimit", "eks.localStorage")
_BORN_WITH = ("labels", "taints", "gpuTaint")
_KARPENTER: Mapping[str, LeafClass] = {
    **dict.fromkeys((*_ROLLING, *_BORN_WITH, "image", "zones", "capacity"), LeafClass.ROLLING),
    "karpenter.disruption": LeafClass.LIVE,
    "karpenter.weight": LeafClass.LIVE,
    "cluster.kubernetesVersion": LeafClass.ROLLING,
}
_NODE_GROUP: Mapping[str, LeafClass] = {
    **dict.fromkeys(_ROLLING, LeafClass.ROLLING),
    **dict.fromkeys(("image", "zones", "capacity"), LeafClass.REPLACEMENT),
    "eks.update": LeafClass.LIVE,
    "eks.nodeRepair": LeafClass.LIVE,
}


def leaf_classes(pool: Pool) -> Mapping[str, LeafClass]:
    """The table of the pool's provisioner. An image of one's own gets labels and taints by its user
    data, which is part of the launch template, and no Kubernetes version."""
    if pool.provisioner is Provisioner.KARPENTER:
        return _KARPENTER
    if eks_shape(pool).custom:
        return {**_NODE_GROUP, **dict.fromkeys(_BORN_WITH, LeafClass.ROLLING)}
    return {
        **_NODE_GROUP,
        **dict.fromkeys(_BORN_WITH, LeafClass.LIVE),
        "cluster.kubernetesVersion": LeafClass.ROLLING,
    }
