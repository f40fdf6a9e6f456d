"""Keys, operators and selectable labels of Karpenter's definitions.

Sources: karpenter-provider-aws v1.14.1 `pkg/apis/crds`, `concepts/scheduling`,
`reference/instance-types`.
"""

from functools import cache
from operator import ge, gt, le, lt
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.catalogue.edition import read_rows
from gpufleet.contract.schemas.report import schema_codes

VERSIONS = {
    "NodePool": "karpenter.sh/v1",
    "NodeOverlay": "karpenter.sh/v1alpha1",
    "EC2NodeClass": "karpenter.k8s.aws/v1",
}
"""Kind -> the version that is served."""
CODES = schema_codes()
FORMER = {"Provisioner": "NodePool", "AWSNodeTemplate": "EC2NodeClass", "Machine": "NodeClaim"}
"""Kinds before v1beta1 -> their successors."""

NUMERIC = {"Gt": gt, "Lt": lt, "Gte": ge, "Lte": le}
"""Operators that compare with one number."""

TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
ZONE = "topology.kubernetes.io/zone"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
AWS = "karpenter.k8s.aws/"
"""Prefix of the labels of machines."""
AUTO_MODE = "eks.amazonaws.com/"
"""Prefix of the labels of machines under EKS Auto Mode."""

_LABELS = read_rows(Path(__file__).parent, "karpenter_labels")
WELL_KNOWN = tuple(row["label"] for row in _LABELS if "karpenter" in row["of"])
"""Labels under `AWS` that a requirement may name; the API server refuses others."""
AUTO_MODE_LABELS = tuple(row["label"] for row in _LABELS if "autoMode" in row["of"])
"""The same under `AUTO_MODE` (EKS user guide, "Create a node pool")."""

GPU_CATEGORIES = frozenset({"g", "gr", "p"})
"""Values of `instance-category` of machines with NVIDIA GPUs: `gr` are g6 with more memory."""


@cache
def gpu_names() -> tuple[str, ...]:
    """Values of `instance-gpu-name` of NVIDIA's GPUs, in alphabetical order."""
    names = {gpu.karpenter_name for gpu in load().gpus.values() if gpu.karpenter_name}
    return tuple(sorted(names))
