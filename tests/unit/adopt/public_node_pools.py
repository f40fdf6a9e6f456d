"""NodePools for GPUs as public repositories have them, their requirements only, read 2026-11-28."""

from typing import Any

AWS = "karpenter.k8s.aws/"
TYPE, CAPACITY = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type"


def need(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


SPOT, DEMAND, BOTH = (
    need(CAPACITY, "spot"),
    need(CAPACITY, "on-demand"),
    need(CAPACITY, "spot", "on-demand"),
)
AMD64, LINUX = need("kubernetes.io/arch", "amd64"), need("kubernetes.io/os", "linux")
NVIDIA = need(f"{AWS}instance-gpu-manufacturer", "nvidia")
ANY_GPU = need(f"{AWS}instance-gpu-count", "0", operator="Gt")

NODE_POOLS: dict[str, tuple[list[dict[str, Any]], set[str]]] = {
    # A page on GPU nodes of Kubean on AWS: one L4 each.
    "one-l4": (
        [
            *(AMD64, BOTH, NVIDIA, need(f"{AWS}instance-family", "g6")),
            *(need(f"{AWS}instance-gpu-name", "l4"), need(f"{AWS}instance-gpu-count", "1")),
        ],
        {"L4"},
    ),
    # Notes in Italian on autoscaling for GPUs.
    "by-gpu-name": (
        [need(f"{AWS}instance-gpu-name", "t4", "a10g", "a100"), BOTH],
        {"T4", "A10G", "A100-40GB"},
    ),
    # A guide to agents on EKS, in Korean and English.
    "named-types-of-three-gpus": (
        [AMD64, BOTH, need(TYPE, "p4d.24xlarge", "p5.48xlarge", "g5.48xlarge"), ANY_GPU],
        {"A100-40GB", "H100-80GB", "A10G"},
    ),
    # The same guide, an earlier page.
    "four-families": (
        [
            need(f"{AWS}instance-family", "g5", "g6", "p4d", "p5"),
            need(f"{AWS}instance-gpu-count", "1", "2", "4", "8"),
            *(BOTH, need("topology.kubernetes.io/zone", "us-west-2a", "us-west-2b")),
        ],
        {"A10G", "L4", "A100-40GB", "H100-80GB"},
    ),
    # Terraform of a cluster for inference, T4 only.
    "two-g4dn": (
        [AMD64, LINUX, BOTH, need(TYPE, "g4dn.xlarge", "g4dn.2xlarge"), ANY_GPU],
        {"T4"},
    ),
    # A design in Japanese for inference on spot nodes.
    "two-families-two-sizes": (
        [
            *(AMD64, SPOT, NVIDIA, need(f"{AWS}instance-family", "g4dn", "g5")),
            need(f"{AWS}instance-size", "xlarge", "2xlarge"),
        ],
        {"T4", "A10G"},
    ),
    # slemify, its Go template for models of at most 13 billion parameters.
    "newer-generations": (
        [
            *(AMD64, BOTH, NVIDIA, need(f"{AWS}instance-category", "g", "p")),
            need(f"{AWS}instance-generation", "4", operator="Gt"),
            need(f"{AWS}instance-size", "metal", operator="NotIn"),
        ],
        {"A10G", "L4", "L40S", "H100-80GB"},
    ),
    # Karpenter's scenario of a capacity buffer: every NVIDIA machine.
    "every-nvidia-machine": (
        [BOTH, need(f"{AWS}instance-category", "g", "p"), NVIDIA],
        {"T4", "A10G", "L4", "L40S", "A100-40GB", "H100-80GB"},
    ),
    # kedify's demonstration of scaling vLLM.
    "every-nvidia-machine-on-spot": (
        [SPOT, need(f"{AWS}instance-category", "g", "p"), NVIDIA],
        {"T4", "A10G", "L4"},
    ),
    # awslabs/data-on-eks, ray on GPUs: one family.
    "one-family": ([AMD64, BOTH, need(f"{AWS}instance-family", "g5")], {"A10G"}),
    # awslabs/data-on-eks, trained on P5.
    "one-type": ([AMD64, DEMAND, need(TYPE, "p5.48xlarge")], {"H100-80GB"}),
    # aws-samples/karpenter-blueprints, machines of one size in two families.
    "small-g6": (
        [
            *(AMD64, DEMAND, need(f"{AWS}instance-family", "g6", "g6e")),
            need(f"{AWS}instance-cpu", "8", operator="Lt"),
        ],
        {"L4", "L40S"},
    ),
}
"""Name -> requirements, and GPUs that must be among those of the pools."""
