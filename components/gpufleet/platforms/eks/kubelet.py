"""Settings of the kubelet that nodes of EKS do not get.

nodeadm and Bottlerocket compute what they reserve when a machine starts, by the pods that it may
run (awslabs/amazon-eks-ami 81fec2e `nodeadm/internal/kubelet`; Bottlerocket's setting generators).
EKS's own images of Amazon Linux 2 and of Ubuntu start by a script that EKS writes. The fields of a
NodeClass of EKS Auto Mode are in `auto_mode.py`.
"""

from collections.abc import Mapping

from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.user_data import image_family
from gpufleet.spec.pool import Provisioner

_RESERVED = ("reservedCpus", "reservedMemoryMib")


def refused_kubelet_settings(pool: Pool) -> Mapping[str, str] | str:
    """Field of `kubelet` -> why nodes of the pool do not get it."""
    if pool.provisioner is Provisioner.AUTO_MODE:
        return "the NodeClass of EKS Auto Mode has no settings of the kubelet"
    family = image_family(pool)
    if family in {"al2023", "bottlerocket"}:
        computed = f"nodes of {family} compute when they start what they reserve"
        needs = "the static policy starts only if it is given exactly that amount"
        return {"memoryManager": f"{computed}, and {needs}", **dict.fromkeys(_RESERVED, computed)}
    if eks_shape(pool).custom:
        return {}
    return f"EKS starts nodes of {family} by a script of its own, which sets no managers"
