"""What Karpenter's definitions know: keys, operators, labels a pool may select by.

Sources: karpenter-provider-aws v1.14.1 `pkg/apis/crds`, `concepts/scheduling`,
`reference/instance-types`.
"""

from functools import cache

from gpufleet.catalogue import load
from gpufleet.contract.schemas import schema_codes

VERSIONS = {
    "NodePool": "karpenter.sh/v1",
    "NodeOverlay": "karpenter.sh/v1alpha1",
    "EC2NodeClass": "karpenter.k8s.aws/v1",
}
"""Kind -> the version that is served."""
CODES = schema_codes()
FORMER = {"Provisioner": "NodePool", "AWSNodeTemplate": "EC2NodeClass", "Machine": "NodeClaim"}
"""Kinds before v1beta1 -> what they have become."""

NUMERIC = ("Gt", "Lt", "Gte", "Lte")

TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
ZONE = "topology.kubernetes.io/zone"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
AWS = "karpenter.k8s.aws/"
"""Prefix of the labels of machines."""
AUTO_MODE = "eks.amazonaws.com/"
"""Prefix of the labels of machines under EKS Auto Mode."""

_BOTH = (
    "instance-category",
    "instance-cpu",
    "instance-cpu-manufacturer",
    "instance-ebs-bandwidth",
    "instance-encryption-in-transit-supported",
    "instance-family",
    "instance-generation",
    "instance-gpu-count",
    "instance-gpu-manufacturer",
    "instance-gpu-memory",
    "instance-gpu-name",
    "instance-hypervisor",
    "instance-local-nvme",
    "instance-memory",
    "instance-network-bandwidth",
    "instance-size",
)
"""Labels of machines that both have, each under its prefix."""
_KARPENTER = (
    "capacity-reservation-id",
    "capacity-reservation-interruptible",
    "capacity-reservation-type",
    "ec2nodeclass",
    "instance-accelerator-count",
    "instance-accelerator-manufacturer",
    "instance-accelerator-name",
    "instance-capability-flex",
    "instance-cpu-sustained-clock-speed-mhz",
    "instance-tenancy",
    "placement-group-id",
    "placement-group-partition",
)
"""Labels of machines that Karpenter alone has."""
WELL_KNOWN = tuple(sorted((*_BOTH, *_KARPENTER)))
"""Labels under `AWS` that a requirement may name; the API server refuses others."""
AUTO_MODE_LABELS = tuple(sorted((*_BOTH, "compute-type")))
"""The same under `AUTO_MODE` (EKS user guide, "Create a node pool")."""

GPU_CATEGORIES = frozenset({"g", "gr", "p"})
"""Values of `instance-category` of machines with NVIDIA GPUs: `gr` are g6 with more memory."""


@cache
def gpu_names() -> tuple[str, ...]:
    """Values of `instance-gpu-name` of NVIDIA's GPUs, in alphabetical order."""
    names = {gpu.karpenter_name for gpu in load().gpus.values() if gpu.karpenter_name}
    return tuple(sorted(names))
