"""Network resources of machines with EFA or close together, for every launcher."""

import pulumi

from gpufleet.platforms.eks.aws_objects import aws_parts
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
        pool, prefix = plan.pool, connection.name_prefix
        made = aws_parts(component, name, tags=pool_tags(pool, prefix, connection.tags))
        called = name_prefix(prefix, f"{pool.name}-efa", "security group")
        groups.append(made("efa", prefix=called, pool=pool.name, vpc=connection.vpc_id).id)
    return groups


def made_placement_group(
    component: pulumi.ComponentResource, name: str, plan: EksPoolPlan
) -> pulumi.Output[str]:
    """Name of a cluster placement group."""
    tags = pool_tags(plan.pool, plan.connection.name_prefix, plan.connection.tags)
    return aws_parts(component, name, tags=tags)("placement").output("name")
