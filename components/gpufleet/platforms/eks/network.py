"""Network resources of machines with EFA or close together, for every launcher."""

from collections.abc import Mapping
from typing import Any

import pulumi

from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.aws_objects import PLACEMENT_GROUP, SECURITY_GROUP, AwsObject
from gpufleet.platforms.eks.names import name_prefix, pool_tags
from gpufleet.platforms.eks.pool_plans import EksPoolPlan


def machine_security_groups(
    component: pulumi.ComponentResource, name: str, plan: EksPoolPlan
) -> list[pulumi.Input[str]]:
    """Ids of the security groups of machines that list them: the cluster's, those of the
    connection, and with EFA a new one whose members allow each other."""
    connection = plan.connection
    assert connection.cluster_security_group_id is not None  # validated with the plan
    groups = [connection.cluster_security_group_id, *connection.security_group_ids]
    if plan.shape.efa:
        rules = efa_security_group(plan.pool, connection.name_prefix, connection.tags)
        made = AwsObject(
            SECURITY_GROUP,
            f"{name}-efa",
            {**rules, "vpcId": connection.vpc_id},
            pulumi.ResourceOptions(parent=component),
        )
        groups.append(made.id)
    return groups


def made_placement_group(
    component: pulumi.ComponentResource, name: str, plan: EksPoolPlan
) -> pulumi.Output[str]:
    """Name of a cluster placement group."""
    tags = pool_tags(plan.pool, plan.connection.name_prefix, plan.connection.tags)
    return AwsObject(
        PLACEMENT_GROUP,
        f"{name}-placement",
        {"strategy": "cluster", "tags": tags},
        pulumi.ResourceOptions(parent=component),
        outputs=("name",),
    ).output("name")


ALL_TRAFFIC = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}


def efa_security_group(pool: Pool, prefix: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `aws:ec2/securityGroup`, without its network. EFA traffic has no ports; a rule
    with an address range instead of the group allows nothing (EFA user guide; eksctl
    `pkg/cfn/builder/vpc.go`)."""
    return {
        "namePrefix": name_prefix(prefix, f"{pool.name}-efa", "security group"),
        "description": f"EFA traffic between nodes of pool {pool.name}",
        "ingress": [dict(ALL_TRAFFIC)],
        "egress": [dict(ALL_TRAFFIC)],
        "tags": pool_tags(pool, prefix, tags),
    }
