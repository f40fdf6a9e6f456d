"""Findings about pools that Karpenter provisions."""

from collections.abc import Iterable, Sequence

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.karpenter import KarpenterRequirement
from gpufleet.spec.pool import Provisioner

WELL_KNOWN = (
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
    "instance-tenancy",
)
"""Labels under `karpenter.k8s.aws/` that a pool may select by (karpenter-provider-aws v1.14.1)."""

PREFIX = "karpenter.k8s.aws/"
OWN = (
    "node.kubernetes.io/instance-type",
    "karpenter.sh/capacity-type",
    "karpenter.sh/nodepool",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
)
"""Labels whose requirement follows from the pool, or that Karpenter reserves."""


def judge_karpenter(pools: Sequence[Pool]) -> list[Finding]:
    """Everything of this kind."""
    return [finding for pool in pools for finding in _judge(pool)]


def _judge(pool: Pool) -> Iterable[Finding]:
    options = pool.spec.karpenter
    if pool.provisioner is not Provisioner.KARPENTER:
        if options is not None:
            yield error(
                "options-of-other-provisioner",
                f"{pool.path}.karpenter",
                f"`karpenter` settings have no meaning with provisioner {pool.provisioner.value}",
                "remove them, or write `provisioner: karpenter`",
                found=pool.provisioner.value,
            )
        return
    if pool.ownership is Ownership.EXISTING:
        return
    if pool.spec.import_id is not None:
        yield error(
            "import-with-karpenter",
            f"{pool.path}.importId",
            "Karpenter's nodes are in no node group that could be imported",
            "remove importId, or write `provisioner: managed`",
        )
    if pool.nodes.minimum > 0:
        yield warning(
            "karpenter-keeps-no-minimum",
            f"{pool.path}.nodes.min",
            f"min is {pool.nodes.minimum}, and Karpenter keeps no nodes without pods",
            "write 0, or keep nodes with a Deployment of placeholder pods",
            found=pool.nodes.minimum,
        )
    for index, requirement in enumerate(options.requirements if options else ()):
        yield from _requirement(pool, requirement, f"{pool.path}.karpenter.requirements[{index}]")


def _requirement(pool: Pool, one: KarpenterRequirement, path: str) -> Iterable[Finding]:
    short = one.key.removeprefix(PREFIX)
    if one.key in OWN:
        yield error(
            "karpenter-requirement-own",
            f"{path}.key",
            f"{one.key} follows from the pool's instance types, zones and capacity",
            "remove it and change those",
            found=one.key,
        )
    elif one.key.startswith(PREFIX) and short not in WELL_KNOWN:
        yield error(
            "karpenter-label-reserved",
            f"{path}.key",
            f"{one.key} is none of the labels Karpenter lets a pool select by",
            f"one of {', '.join(WELL_KNOWN)}, under {PREFIX}",
            found=one.key,
        )
    elif short == "instance-gpu-count" and one.key != short:
        yield from _gpu_count(pool, one, path)


def _gpu_count(pool: Pool, one: KarpenterRequirement, path: str) -> Iterable[Finding]:
    """Fractional types have the GPU count 0 in EC2's answer, and drop out unseen."""
    lost = [
        machine.name for machine in pool.machines if machine.fraction != 1 and not _holds(one, 0)
    ]
    if lost:
        yield error(
            "karpenter-gpu-count-drops-fractions",
            path,
            f"{one.key} {one.operator} {', '.join(one.values)} excludes {', '.join(lost)}: EC2 "
            "counts 0 GPUs on machines with a part of one",
            f"remove it, or select by {PREFIX}instance-gpu-name",
            found=lost,
        )


def _holds(one: KarpenterRequirement, value: int) -> bool:
    numbers = [int(text) for text in one.values if text.isdigit()]
    match one.operator:
        case "In":
            return value in numbers
        case "NotIn":
            return value not in numbers
        case "Gt":
            return value > numbers[0]
        case "Gte":
            return value >= numbers[0]
        case "Lt":
            return value < numbers[0]
        case "Lte":
            return value <= numbers[0]
        case "Exists":
            return True
        case "DoesNotExist":
            return False
