"""An IAM role that one service account of the cluster takes, by EKS Pod Identity."""

from collections.abc import Mapping
from typing import Any

import pulumi

from gpufleet.platforms.eks.aws_objects import POD_IDENTITY, ROLE, ROLE_POLICY, AwsObject
from gpufleet.platforms.eks.karpenter_access import POD_IDENTITY_TRUST
from gpufleet.platforms.eks.names import name_prefix


def pod_identity(
    component: pulumi.ComponentResource,
    name: str,
    *,
    prefix: str,
    role: str,
    policy: pulumi.Input[str],
    cluster_name: pulumi.Input[str],
    namespace: str,
    service_account: str,
    tags: Mapping[str, str],
) -> tuple[AwsObject, AwsObject]:
    """Role and association. Pods that start before the association exist get no credentials: the
    chart must depend on it.

    Args:
        component: Parent of the resources.
        name: First part of their names.
        prefix: First part of the role's name in AWS.
        role: What the role is for: the rest of its name.
        policy: What it may do, a JSON document.
        cluster_name: Cluster of the service account.
        namespace: Namespace of the service account.
        service_account: Name of the service account.
        tags: Tags of both.
    """
    opts = pulumi.ResourceOptions(parent=component)
    made = AwsObject(
        ROLE,
        f"{name}-role",
        {
            "namePrefix": name_prefix(prefix, role, "role"),
            "description": f"Role of {service_account} in {namespace}",
            "assumeRolePolicy": POD_IDENTITY_TRUST,
            "tags": tags,
        },
        opts,
        outputs=("arn", "name"),
    )
    allowed = AwsObject(
        ROLE_POLICY, f"{name}-policy", {"role": made.output("name"), "policy": policy}, opts
    )
    association: dict[str, Any] = {
        "clusterName": cluster_name,
        "namespace": namespace,
        "serviceAccount": service_account,
        "roleArn": made.output("arn"),
        "tags": tags,
    }
    bound = AwsObject(
        POD_IDENTITY,
        f"{name}-identity",
        association,
        pulumi.ResourceOptions(parent=component, depends_on=[allowed]),
    )
    return made, bound
