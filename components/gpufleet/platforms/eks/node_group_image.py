"""What EKS refuses of a node group's image: for whom it is published, and its warm pool.

Sources: EKS service model (botocore 1.44.5, CreateNodegroup, WarmPoolConfig); Amazon Linux 2 ends
with Kubernetes 1.32 (karpenter-provider-aws v1.14.1 `concepts/nodeclasses`).
"""

from collections.abc import Iterable

from gpufleet.findings import Finding, error
from gpufleet.platforms.eks.provider_arguments import Arguments, mapping

LAST_AL2 = "1.32"
"""Last Kubernetes minor that EKS publishes Amazon Linux 2 images for."""

HIBERNATED = "HIBERNATED"


def validate_image(group: Arguments, path: str) -> Iterable[Finding]:
    """Everything about `amiType` next to `version` and `warmPoolConfig`, in the provider's
    spelling.

    Args:
        group: Arguments of `aws:eks/nodeGroup`, complete or in part.
        path: Place of the arguments.
    """
    image, version = group.get("amiType"), group.get("version")
    if not isinstance(image, str):
        return
    if image.startswith("AL2_") and isinstance(version, str) and _after(version, LAST_AL2):
        yield error(
            "node-group-image-ended",
            f"{path}.amiType",
            f"{image} is published up to Kubernetes {LAST_AL2}, and the group is for {version}",
            "write AL2023_x86_64_NVIDIA, or remove it and choose `image` on the pool",
            found=version,
            limit=LAST_AL2,
        )
    if image.startswith("BOTTLEROCKET"):
        yield from _warm_pool(group, image, f"{path}.warmPoolConfig")


def _warm_pool(group: Arguments, image: str, path: str) -> Iterable[Finding]:
    warm = mapping(group, "warmPoolConfig")
    if warm.get("poolState") == HIBERNATED:
        yield error(
            "node-group-warm-pool",
            f"{path}.poolState",
            f"nodes of {image} cannot hibernate in a warm pool",
            "write STOPPED",
            found=HIBERNATED,
        )
    if warm.get("reuseOnScaleIn") is True:
        yield error(
            "node-group-warm-pool",
            f"{path}.reuseOnScaleIn",
            f"nodes of {image} do not go back to a warm pool",
            "remove it",
            found=True,
        )


def _after(version: str, last: str) -> bool:
    parts = version.split(".")
    if not all(part.isdigit() for part in parts):
        return False
    return tuple(map(int, parts)) > tuple(map(int, last.split(".")))
