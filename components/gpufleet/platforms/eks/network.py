"""What machines with EFA or close together need beside them, whoever launches them."""

from collections.abc import Mapping
from typing import Any

import pulumi

from gpufleet.fleet import Pool
from gpufleet.platforms.eks.aws_objects import PLACEMENT_GROUP, SECURITY_GROUP, AwsObject
from gpufleet.platforms.eks.efa_security_group import efa_security_group
from gpufleet.platforms.eks.names import pool_tags


def made_efa_security_group(
    component: pulumi.ComponentResource,
    name: str,
    pool: Pool,
    prefix: str,
    tags: Mapping[str, str],
    vpc_id: pulumi.Input[str],
) -> pulumi.Output[Any]:
    """Id of a security group whose members admit one another."""
    return AwsObject(
        SECURITY_GROUP,
        f"{name}-efa",
        {**efa_security_group(pool, prefix, tags), "vpcId": vpc_id},
        pulumi.ResourceOptions(parent=component),
    ).id


def made_placement_group(
    component: pulumi.ComponentResource,
    name: str,
    pool: Pool,
    prefix: str,
    tags: Mapping[str, str],
) -> pulumi.Output[Any]:
    """Name of a cluster placement group."""
    return AwsObject(
        PLACEMENT_GROUP,
        f"{name}-placement",
        {"strategy": "cluster", "tags": pool_tags(pool, prefix, tags)},
        pulumi.ResourceOptions(parent=component),
        outputs=("name",),
    ).output("name")
