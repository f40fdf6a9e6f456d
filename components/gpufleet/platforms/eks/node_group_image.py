"""What EKS refuses of a node group's image: for whom it is published, and its warm pool.

Source: EKS service model (botocore 1.44.5, CreateNodegroup, WarmPoolConfig).
"""

from collections.abc import Iterable

from gpufleet.catalogue import load
from gpufleet.catalogue.features import numbers
from gpufleet.cluster.fact import NOTHING, known
from gpufleet.contract.machine_images import ended_image
from gpufleet.findings import Finding, findings_in
from gpufleet.platforms.eks.provider_arguments import Arguments, mapping

_finding = findings_in(__file__)

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
    minor = known(numbers(version)) if isinstance(version, str) else NOTHING
    if (problem := ended_image(image, minor, load())) is not None:
        yield _finding("node-group-image-ended", path, problem=problem, found=version)
    if image.startswith("BOTTLEROCKET"):
        yield from _warm_pool(group, image, f"{path}.warmPoolConfig")


def _warm_pool(group: Arguments, image: str, path: str) -> Iterable[Finding]:
    warm = mapping(group, "warmPoolConfig")
    if warm.get("poolState") == HIBERNATED:
        yield _finding("node-group-warm-pool", path, image=image, found=HIBERNATED)
    if warm.get("reuseOnScaleIn") is True:
        yield _finding("node-group-warm-pool/reuse", path, image=image, found=True)
