"""What lets nodes of EKS Auto Mode with a role of their own join: an access entry of the type EC2
and an access policy (Amazon EKS user guide, "Create node class access entry")."""

import pulumi

from gpufleet.platforms.eks.auto_mode import access_policy_arn
from gpufleet.platforms.eks.aws_objects import ACCESS_ENTRY, ACCESS_POLICY, AwsObject
from gpufleet.platforms.eks.connection import EksConnection


def auto_mode_access(
    name: str, connection: EksConnection, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """The entry and its policy."""
    who = {
        "clusterName": connection.cluster_name,
        "principalArn": connection.node_role_arn,
    }
    entry = AwsObject(
        ACCESS_ENTRY,
        f"{name}-access",
        {**who, "type": "EC2", "tags": connection.tags},
        opts,
    )
    policy = AwsObject(
        ACCESS_POLICY,
        f"{name}-access-policy",
        {
            **who,
            "policyArn": pulumi.Output.from_input(connection.node_role_arn).apply(
                access_policy_arn
            ),
            "accessScope": {"type": "cluster"},
        },
        pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[entry])),
    )
    return [entry, policy]
