"""EKS Auto Mode: Karpenter, run by AWS in the control plane, and the NodeClass of a pool.

AWS provides image, driver, device plugins, node repair and the agent of EKS Pod Identity.

Sources: Amazon EKS user guide (awsdocs/amazon-eks-user-guide): `automode/create-node-class` 6121ad5
and `automode/create-node-pool` 0138560 (fields, labels, access entry), `automode/auto-odcr`
041ffa8 (reservations and Capacity Blocks), `automode/automode-learn-instances` 06faff1 (instance
families, hop limit, local disks), `automode/automode` 03bdcd1 (21 days), `automode/auto-learn-iam`
1fe584b (tags); awslabs/cdk-eks-blueprints, AutoModeNodeClassSpec (every field of the NodeClass).
Read 2026-11-23.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.shape import EksShape, reservation_terms

API_VERSION = "eks.amazonaws.com/v1"
GROUP = "eks.amazonaws.com"
KIND = "NodeClass"
IMAGE = "eks-auto"
"""Node image in the catalogue that AWS chooses."""

LIFETIME_HOURS = 21 * 24
"""Maximum age of a node. AWS enforces it, including expiry and grace period."""

ACCESS_POLICY = "AmazonEKSAutoNodePolicy"
"""Access policy with which its nodes join; the access entry has the type EC2."""


def auto_node_class(
    pool: Pool, shape: EksShape, tags: Mapping[str, str], name: str
) -> dict[str, Any]:
    """The NodeClass, without role, subnets and security groups.

    Only the tags of the fleet are set: AWS does not launch machines with tags for which the
    cluster's role has no additional permission.
    """
    spec: dict[str, Any] = {"ephemeralStorage": {"size": f"{pool.spec.disk.size_gib}Gi"}}
    if shape.options.kms_key_arn is not None:
        spec["ephemeralStorage"]["kmsKeyID"] = shape.options.kms_key_arn
    reservations = reservation_terms(pool, shape)
    if reservations:
        spec["capacityReservationSelectorTerms"] = reservations
    if tags:
        spec["tags"] = dict(sorted(tags.items()))
    return manifest(API_VERSION, KIND, name, labels={POOL_LABEL: pool.name}, spec=spec)


def access_policy_arn(node_role_arn: str) -> str:
    """ARN of the access policy, in the partition of the role."""
    return f"arn:{node_role_arn.split(':')[1]}:eks::aws:cluster-access-policy/{ACCESS_POLICY}"
