"""Inputs of a fleet on EKS: the AWS provider, and values of the cluster's stack or file."""

from typing import Any

import pulumi
import pulumi_aws as aws
from settings import Settings, cluster_stack

WIRED = ("nodeRoleArn", "vpcId", "clusterSecurityGroupId")
"""Outputs of the cluster's stack, by the names they have in `gpufleet:connection`."""


def providers(stack: Settings) -> dict[str, pulumi.ProviderResource]:
    """The AWS provider of the fleet's region. Tags reach everything by the spec itself."""
    return {"aws": aws.Provider("aws", region=stack.fleet["cluster"]["region"])}


def connection(stack: Settings) -> dict[str, Any]:
    """Outputs of the cluster's stack, or values of the stack file. Raises RunError for values that
    neither has."""
    written = stack.connection
    given: dict[str, Any] = {
        "nodeRoleArn": written.node_role_arn,
        "vpcId": written.vpc_id,
        "clusterSecurityGroupId": written.cluster_security_group_id,
    }
    subnets: dict[str, Any] | None = written.subnet_ids_by_zone
    if written.cluster_stack is not None:
        made = cluster_stack(written.cluster_stack)
        given = {key: value or made.require_output(key) for key, value in given.items()}
        subnets = {zone: made.require_output(output) for zone, output in (subnets or {}).items()}
    if not subnets:
        raise pulumi.RunError(
            "gpufleet:connection.subnetIdsByZone is missing: write a private subnet for each zone"
        )
    return {
        "cluster_name": stack.fleet["cluster"]["name"],
        "node_role_arn": given["nodeRoleArn"],
        "subnet_ids_by_zone": subnets,
        "vpc_id": given["vpcId"],
        "cluster_security_group_id": given["clusterSecurityGroupId"],
    }
